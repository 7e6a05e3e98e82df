#!/bin/sh
# gpu_phases.sh HONE [RUNS]: where the seconds of a cold verdict go on a GPU. Each verdict is a command of
# its own: compile, verify at full size, time. The judge's own kernels and the ceilings are cached, the
# candidate is new every time. Prints medians in seconds, a row for each phase.
HONE=$1
RUNS=${2:-5}
cd "$(dirname "$0")/.." || exit 1
ROOT=$(pwd)
DIR=$(mktemp -d "${TMPDIR:-/tmp}/hone-phases-XXXXXX")
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM

# one PROBLEM N: verdict number N, a line "PHASE SECONDS" each.
one() {
    "$HONE" scaffold "$ROOT/problems/$1.hone" --tier D --dim M=4096,N=4096 >"$DIR/k.cu" || exit 1
    printf '// %s %s\n' "$2" "$(date +%s%N)" >>"$DIR/k.cu"
    "$HONE" eval "$ROOT/problems/$1.hone" "$DIR/k.cu" --target cuda --dim M=4096,N=4096 --screen \
        --json >"$DIR/json" || {
        cat "$DIR/json"
        exit 1
    }
    awk '/"phases"/ { inside = 1; next }
         inside && /"/ { gsub(/[",:]/, ""); print $1, $2 }
         /^  "seconds"/ { gsub(/[",:]/, ""); print "all", $2 }' "$DIR/json"
}

for problem in softmax gelu; do
    one $problem warm-up >/dev/null
    : >"$DIR/all"
    n=0
    while [ $n -lt "$RUNS" ]; do
        one $problem $n >>"$DIR/all"
        n=$((n + 1))
    done
    printf '%s 4096 x 4096, screening, median of %s:\n' $problem "$RUNS"
    for phase in all prepare open inputs truth compile runners load verify time null_kernel close other; do
        awk -v p=$phase '$1 == p { print $2 }' "$DIR/all" | sort -n |
            awk -v p=$phase '{ v[NR] = $1 } END { printf "  %-12s %.3f\n", p, v[int((NR + 1) / 2)] }'
    done
done
