#!/bin/sh
# bench/run.sh HONE: measure every figure of docs/results/thread.md on this machine and print the
# table as Markdown. Ratios are taken within one run; nothing else should be running. Peers:
# OpenBLAS (Debian: libopenblas0-pthread) where it is installed, a streaming copy of our own.
set -eu
hone=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$work/cache" HONE_MEMORY_PATH=off HONE_TARGET=cpu
cd "$work"
seconds=${BENCH_SECONDS:-40}

row() {
    printf '| %s | %s | %s |\n' "$1" "$2" "$3"
}
now_ns() {
    date +%s%N
}
# field FILE KEY: the first number called KEY in a pretty-printed document.
field() {
    sed -n "s/.*\"$2\": \([-0-9.e+]*\).*/\1/p" "$1" | head -n 1
}
# part FILE KEY: the object called KEY, so that `field` finds its own numbers.
part() {
    sed -n "/\"$2\": {/,/}/p" "$1"
}
round() {
    awk -v x="$1" -v d="$2" 'BEGIN { printf "%.*f", d, x }'
}

# 200 starts, one after the other; milliseconds each.
start_ms() {
    begin=$(now_ns)
    i=0
    while [ $i -lt 200 ]; do
        "$@" >/dev/null
        i=$((i + 1))
    done
    awk -v ns=$(($(now_ns) - begin)) 'BEGIN { printf "%.2f", ns / 200 / 1e6 }'
}

# A problem of about 1 ms and a candidate for it that nobody compiled before.
screen_s() {
    printf 'kernel for softmax on cpu\nstage y : rowwise vec 16 rows %s\n' "$1" >screen.hone
    begin=$(now_ns)
    "$hone" eval "$root/problems/softmax.hone" screen.hone --dim M=512 --screen --baseline default \
        >/dev/null
    awk -v ns=$(($(now_ns) - begin)) 'BEGIN { printf "%.2f\n", ns / 1e9 }'
}

optimise() {
    "$hone" optimize "$root/problems/$1.hone" --seconds "$seconds" --store "$work/$1" --json >"$1.json"
    part "$1.json" speedup >"$1.speedup"
    part "$1.json" reach >"$1.reach"
}

# peer NAME SOURCE [FLAG]: build an exported kernel with a peer; prints
# "name ours_ms peer_ms ratio".
peer() {
    "$hone" export --store "$work/$1" -o "$work/$1-export" >/dev/null
    make -s -C "$1-export" >/dev/null
    (cd "$1-export" && ./check >/dev/null)
    # shellcheck disable=SC2086
    cc -O3 -march=native -fopenmp ${3:-} -I"$root/bench" -I"$1-export" -o "$1-peer" \
        "$root/bench/$2" "$1-export/lib$1.a" -lm -ldl
    OMP_WAIT_POLICY=passive "./$1-peer" || true
}

"$hone" calibrate --json >ceilings.json
echo "# The first thread on the CPU, measured"
echo
echo "\`make bench\` on $(date -u +%F): $(sed -n 's/.*"device": "\(.*\)",/\1/p' ceilings.json);" \
    "$(cc --version | head -n 1); hone $("$hone" --version | cut -d' ' -f2)," \
    "$seconds s per optimisation."
echo
echo '| what | measured | aim |'
echo '|---|---|---|'
# shellcheck disable=SC2016
row 'process start of `hone --version`, mean of 200 (`/bin/true` next to it)' \
    "$(start_ms "$hone" --version) ms ($(start_ms /bin/true) ms)" 'under 3 ms'
for rows in 1 2 4 8 16; do screen_s $rows; done | sort -n >screens
row 'screening verdict, softmax 512 x 4096 (about 1 ms), nothing cached: median of 5' \
    "$(sed -n 3p screens) s" 'under 0.5 s'
# What a spool costs beyond the judging: jobs whose plan is refused at sight, through one worker.
spool_ms() {
    n=0
    while [ $n -lt "$1" ]; do
        printf '#pragma hone launch f grid(1) args(none)\n// %s\n' $n >refused.c
        "$hone" eval "$root/problems/softmax.hone" refused.c --verify --dim M=64,N=64 --spool "$2" --detach >/dev/null
        n=$((n + 1))
    done
    begin=$(now_ns)
    "$hone" worker --spool "$2" --once --target cpu >/dev/null
    awk -v ns=$(($(now_ns) - begin)) 'BEGIN { printf "%.3f", ns / 1e6 }'
}
one=$(spool_ms 1 spool-one)
many=$(spool_ms 201 spool-many)
row 'spool: claim, read, judge what is refused at sight, answer; 201 jobs less the first' \
    "$(awk -v a="$one" -v b="$many" 'BEGIN { printf "%.2f ms a job, %.0f jobs/s", (b - a) / 200, 200e3 / (b - a) }')" \
    '(stated, no aim)'
for name in softmax gelu gemm; do
    optimise $name
    row "$name: speed-up over plain, confirmed on fresh data" \
        "$(round "$(field $name.speedup value)" 2)x ($(round "$(field $name.speedup low)" 2) to $(round "$(field $name.speedup high)" 2))" \
        'at least 2x'
    aim='at least 70%'
    [ $name = gemm ] && aim='(stated, no aim)'
    row "$name: fraction of reach" "$(awk -v f="$(field $name.reach fraction)" 'BEGIN { printf "%.0f%%", 100 * f }')" "$aim"
done
# shellcheck disable=SC2046
set -- $(peer softmax peer_copy.c)
row 'softmax exported, against a streaming copy of the same bytes in one process' \
    "$2 ms and $3 ms: $4 of its speed" 'at least 0.7 (reach, in one run)'
# shellcheck disable=SC2046
set -- $(peer gelu peer_copy.c -DGELU)
row 'gelu exported, against a streaming kernel of the same traffic in one process' \
    "$2 ms and $3 ms: $4 of its speed" 'at least 0.7 (reach, in one run)'
# shellcheck disable=SC2046
set -- $(peer gemm peer_gemm.c)
if [ "$1" = absent ]; then
    row 'gemm 1024³ exported, against OpenBLAS' 'OpenBLAS is not installed' 'at least 0.4'
else
    row 'gemm 1024³ exported, against OpenBLAS in one process' \
        "$2 ms and $3 ms: $4 of its speed" 'at least 0.4'
fi
"$(dirname "$hone")/peer-interpret" | while read -r name ours theirs ratio; do
    row "interpreter, $name (value, spread and honest f32), against a plain loop nest in float64" \
        "$ours ms and $theirs ms: $ratio of its speed" 'at least 1'
done
