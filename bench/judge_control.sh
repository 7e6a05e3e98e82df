#!/bin/sh
# bench/judge_control.sh HONE [TRIALS1 [TRIALS5 [TRIALS20]]]: how often are identical kernels called
# different, and which slow-down is told, in comparisons of 1, 5 and 20 s? (Defaults: 1000, 200, 200:
# hours. 0 leaves a row out.) Three problems: 0.3 ms of arithmetic; 1 ms of memory traffic, warm and
# cold. Prints rows of docs/results/judge.md. Nothing else should be running.
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

# control WHAT SECONDS TRIALS PROBLEM OPTION...
control() {
    what=$1 seconds=$2 trials=$3 problem=$4
    shift 4
    [ "$trials" -gt 0 ] || return 0
    "$hone" eval "$root/problems/$problem.hone" default --aa "$trials" --seconds "$seconds" "$@" >out.txt
    awk -v what="$what" -v seconds="$seconds" -v trials="$trials" '
        /called faster/ { different = $10 + $13 }
        /at most/ { bound = $6 }
        /slow-down/ { smallest = $4; call = $(NF - 1) " " $NF }
        END { printf "| %s, %s | %s s | %d of %d (at most %s) | %s |\n", what, call, seconds,
              different, trials, bound, smallest }' out.txt
}

[ -n "${CONTROL_BARE:-}" ] || printf '| problem | comparison | called different (95%% bound) | slow-down told in 95%% |\n|---|---|---|---|\n'
only=${CONTROL_ONLY:-compute warm cold}
for pair in "1 ${2:-1000}" "5 ${3:-200}" "20 ${4:-200}"; do
    s=${pair% *} n=${pair#* }
    case $only in *compute*) control 'product 192³' "$s" "$n" gemm --dim M=192,N=192,K=192 ;; esac
    case $only in *warm*) control 'GELU 1024 x 1024, warm' "$s" "$n" gelu --dim M=1024,N=1024 --warm ;; esac
    case $only in *cold*) control 'GELU 1024 x 1024, cold' "$s" "$n" gelu --dim M=1024,N=1024 ;; esac
done
