#!/bin/sh
# bench/gpu_ceilings.sh HONE: what a GPU can do at best, and whether reach asks for more time than a
# kernel takes. Appends to docs/results/h200-ceilings.md: every mix of traffic with its line and its
# single sizes, the rates of arithmetic, and a softmax and a GELU chain of several sizes against
# their reach (above 100% reach would be no bound there). About a minute.
set -eu
hone=${1:-build/hone}
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"

"$hone" calibrate --target cuda --json >json
# "MIX RATE FIXED BYTES:SECONDS ..." for each mix of traffic.
awk '{ gsub(/[",]/, "") }
    $1 == "read_fraction:" { mix = $2; points = "" }
    $1 == "bytes_per_s:" { rate = $2 }
    $1 == "fixed_s:" { fixed = $2 }
    $1 == "bytes:" { bytes = $2 }
    $1 == "seconds:" && bytes { points = points sprintf(", %.3g MiB %.2f", bytes / 1048576, $2 * 1e6); bytes = 0 }
    $1 == "]" && points { printf "%.2f %.0f GB/s after %.2f µs; in µs%s\n", mix, rate / 1e9, fixed * 1e6, points; points = "" }' \
    json >mixes
while read -r mix words; do
    row "traffic, $mix of it read" '`hone calibrate --target cuda --json`' "$words"
done <mixes
for rate in f32 f64 bf16 tf32 f8 i8; do
    row "arithmetic, $rate" '`hone calibrate --target cuda --json`' \
        "$(awk -v k="\"${rate}_flops_per_s\":" '$1 == k { printf "%.1f TFLOP/s", $2 / 1e12 }' json)"
done

for problem in softmax gelu; do
    for rows in 512 1024 2048 4096 8192 16384; do
        dim=M=$rows,N=4096
        "$hone" eval "$root/problems/$problem.hone" default --target cuda --dim $dim --baseline default --seconds 1 >eval.txt || {
            cat eval.txt
            exit 1
        }
        row "$problem $rows x 4096, the default kernel" \
            "\`hone eval problems/$problem.hone default --target cuda --dim $dim --baseline default --seconds 1\`" \
            "$(sed -n 's/^  time *//p' eval.txt)"
    done
done
