#!/bin/sh
# bench/gpu_phases.sh HONE [RUNS]: where the seconds of a verdict go on a GPU. Each is a command of its
# own: compile, verify at full size, time. The judge's own kernels and the ceilings are cached, the
# candidate is new every time. Appends medians in seconds to docs/results/h200-phases.md.
set -eu
hone=$1
runs=${2:-5}
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"

# one PROBLEM N: verdict number N, a line "PHASE SECONDS" each.
one() {
    { cat "$root/bench/kernels/$1.cu"; echo "// $2 $(date +%s%N)"; } >k.cu
    "$hone" eval "$root/problems/$1.hone" k.cu --target cuda --dim M=4096,N=4096 --baseline default \
        --json >json || {
        cat json >&2
        exit 1
    }
    awk '/"phases"/ { inside = 1; next }
         inside && /"/ { gsub(/[",:]/, ""); print $1, $2 }
         /^  "seconds"/ { gsub(/[",:]/, ""); print "all", $2 }' json
}
median() {
    awk -v p="$1" '$1 == p { print $2 }' all | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) printf "%.3f", v[int((NR + 1) / 2)] }'
}

for problem in softmax gelu; do
    one $problem warm-up >/dev/null
    : >all
    n=0
    while [ $n -lt "$runs" ]; do
        one $problem $n >>all
        n=$((n + 1))
    done
    list=
    for phase in all prepare open inputs truth compile runners load verify time null_kernel close other; do
        list="$list${list:+, }$phase $(median $phase)"
    done
    row "where the seconds of a verdict go, $problem 4096 x 4096, median of $runs" \
        "\`hone eval problems/$problem.hone K.cu --target cuda --dim M=4096,N=4096 --baseline default --json\`" "$list"
done
