#!/bin/sh
# bench/judge_control.sh HONE [SHORT [LONG [LENGTHS]]]: how often are identical kernels called
# different, and which slow-down is told? Three problems: 0.3 ms of arithmetic; 1 ms of memory
# traffic, warm and cold. Of each SHORT trials of 0.2 s (1000), then LONG trials (10) of 20 s, seen
# also as comparisons of 1 and 5 s (LENGTHS: 1,5,20). 0 leaves a part out. About 29 minutes; prints
# rows of docs/results/judge.md. Nothing else should be running. CONTROL_ONLY names some of the
# problems (compute warm cold), CONTROL_BARE leaves the head of the table out.
#
# A slow-down by x is told when the interval, moved by x, excludes 1 by the margin: times that are
# longer by x move it by exactly that. So every comparison of a kernel with itself says which
# slow-down it would have told, and 95% of them told the largest but 5%.
set -eu
hone=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$work/cache" XDG_RUNTIME_DIR="$work/run" HONE_TARGET=cpu
cd "$work"

# control WHAT LENGTHS TRIALS PROBLEM OPTION...
control() {
    what=$1 lengths=$2 trials=$3 problem=$4
    shift 4
    [ "$trials" -gt 0 ] || return 0
    "$hone" eval "$root/problems/$problem.hone" default --aa "$trials" --seconds "$lengths" "$@" >out.txt
    awk -v what="$what" -v seconds="$lengths" '
        /^in [0-9.]* s, / { seconds = $2 }
        /called faster/ { n = $1; different = $10 + $13 }
        /at most/ { bound = $6 }
        /half width/ { width = $NF }
        /slow-down/ { printf "| %s, %s %s | %s s | %d of %d (at most %s) | %s | %s |\n", what,
                      $(NF - 1), $NF, seconds, different, n, bound, width, $4 }' out.txt
}

[ -n "${CONTROL_BARE:-}" ] ||
    printf '| problem | comparison | called different (95%% bound) | mean half width | slow-down told in 95%% |\n|---|---|---|---|---|\n'
only=${CONTROL_ONLY:-compute warm cold}
for part in "0.2 ${2:-1000}" "${4:-1,5,20} ${3:-10}"; do
    lengths=${part% *} n=${part#* }
    case $only in *compute*) control 'product 240³' "$lengths" "$n" gemm --dim M=240,N=240,K=240 ;; esac
    case $only in *warm*) control 'GELU 2048 x 1024, warm' "$lengths" "$n" gelu --dim M=2048,N=1024 --warm ;; esac
    case $only in *cold*) control 'GELU 2048 x 1024, cold' "$lengths" "$n" gelu --dim M=2048,N=1024 ;; esac
done
