#!/bin/sh
# bench/judge_control.sh HONE [SHORT [LONG [LENGTHS [ASKED]]]]: how often are identical kernels called
# different, and which slow-down is detected? Three problems: 0.3 ms of arithmetic; 1 ms of memory
# traffic, warm and cold. Of each SHORT trials of 0.2 s (1000), then LONG trials (10) of 20 s, seen
# also as comparisons of 1 and 5 s (LENGTHS: 1,5,20), then ASKED trials (20) that are asked for a
# resolution of 2% (CONTROL_RESOLUTION): such a one ends when it can resolve that, or after the last of
# LENGTHS, but not before the last but one. 0 leaves a part out. About 35 minutes; prints rows of
# docs/results/judge.md. Nothing else should be running. CONTROL_ONLY names some of the problems
# (compute warm cold), CONTROL_BARE leaves the heads of the tables out.
#
# A slow-down by x is detected when the interval, moved by x, excludes 1 by the margin: times that are
# longer by x move it by exactly that. So every comparison of a kernel with itself says which
# slow-down it would have detected, and 95% of them detected the largest but 5%.
set -eu
hone=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$work/cache" XDG_RUNTIME_DIR="$work/run" HONE_TARGET=cpu
cd "$work"

# trials LINES WHAT LENGTHS N PROBLEM OPTION...: N trials, and what is made of them.
trials() {
    lines=$1 what=$2 lengths=$3 n=$4 problem=$5
    shift 5
    [ "$n" -gt 0 ] || return 0
    "$hone" eval "$root/problems/$problem.hone" default --aa "$n" --seconds "$lengths" "$@" >out.txt
    $lines
}
lengths() {
    awk -v what="$what" -v seconds="$lengths" '
        /^in [0-9.]* s, / { seconds = $2 }
        /called faster/ { n = $1; different = $10 + $13 }
        /at most/ { bound = $6 }
        /half width/ { width = $NF }
        /slow-down/ { printf "| %s, %s %s | %s s | %d of %d (at most %s) | %s | %s |\n", what,
                      $(NF - 1), $NF, seconds, different, n, bound, width, $4 }' out.txt
}
asked() {
    awk -v what="$what" -v seconds="$lengths" '
        /^in [0-9.]* s, / { seconds = $2 }
        /called faster/ { n = $1; different = $10 + $13 }
        /at most/ { bound = $6 }
        /slow-down/ { call = $(NF - 1) " " $NF; detected = $4 }
        /asked for/ { printf "| %s, %s | %s in %s s | %d of %d (at most %s) | %s of %d | %s s | %s s | %s |\n", what, call,
                      $2, seconds, different, n, bound, $10, n, $17, $(NF - 1), detected }' out.txt
}
# problems LINES LENGTHS N OPTION...: the three of them.
problems() {
    lines=$1 lengths=$2 n=$3
    shift 3
    only=${CONTROL_ONLY:-compute warm cold}
    case $only in *compute*) trials "$lines" 'product 240³' "$lengths" "$n" gemm --dim M=240,N=240,K=240 "$@" ;; esac
    case $only in *warm*) trials "$lines" 'GELU 2048 x 1024, warm' "$lengths" "$n" gelu --dim M=2048,N=1024 --warm "$@" ;; esac
    case $only in *cold*) trials "$lines" 'GELU 2048 x 1024, cold' "$lengths" "$n" gelu --dim M=2048,N=1024 "$@" ;; esac
}
title() {
    [ -n "${CONTROL_BARE:-}" ] || printf '%s\n' "$@"
}

if [ "${2:-1000}" -gt 0 ] || [ "${3:-10}" -gt 0 ]; then
    title '| problem | comparison | called different (95% bound) | mean half width | slow-down detected in 95% |' '|---|---|---|---|---|'
    problems lengths 0.2 "${2:-1000}"
    problems lengths "${4:-1,5,20}" "${3:-10}"
fi
if [ "${5:-20}" -gt 0 ]; then
    title '' '| problem | asked for | called different (95% bound) | that was detected | half took at most | 95% took at most | slow-down detected in 95% |' '|---|---|---|---|---|---|---|'
    problems asked "${4:-1,5,20}" "${5:-20}" --resolution "${CONTROL_RESOLUTION:-2%}"
fi
