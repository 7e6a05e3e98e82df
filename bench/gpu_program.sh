#!/bin/bash
# gpu_program.sh HONE [PROGRAM]: how long `hone profile` takes on a program of ten kernels beyond the
# program's own runs (asked: under 10 s), by our library and by ncu. Needs a card, and nvcc unless
# PROGRAM is a compiled tests/gpu/ten_kernels.cu.
set -u
hone=$1
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvidia-smi >/dev/null 2>&1 || {
    echo "skipped: no GPU"
    exit 0
}
program=${2:-$work/ten}
if [ $# -lt 2 ]; then
    major=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
    nvcc -O3 -lineinfo -arch="sm_$major" -o "$program" "$here/tests/gpu/ten_kernels.cu" || exit 1
fi

# seconds COMMAND...: how long it takes.
seconds() {
    local begin=$EPOCHREALTIME
    "$@" >"$work/out" 2>"$work/err" || cat "$work/out" "$work/err" >&2
    awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f\n", b - a }'
}
alone=$(for _ in 1 2 3; do seconds "$program"; done | sort -n | sed -n 2p)
ours=$(seconds "$hone" profile --top 10 -- "$program")
cp "$work/out" "$work/report"
awk -v alone="$alone" -v ours="$ours" 'BEGIN {
    printf "alone, median of 3: %.2f s\n", alone
    printf "hone profile, three runs: %.2f s, %.2f s beyond them (asked: under 10 s)\n", ours, ours - 3 * alone
}'
by_ncu=$(seconds timeout 60 "$hone" profile --by ncu --top 10 -- "$program" 1)
awk -v ncu="$by_ncu" 'BEGIN {
    printf "hone profile --by ncu, one run with each launched once: %.2f s\n", ncu
}'
echo
cat "$work/report"
echo
cat "$work/out"
