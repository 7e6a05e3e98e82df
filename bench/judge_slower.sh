#!/bin/sh
# bench/judge_slower.sh HONE [TRIALS [SECONDS]]: is a slow-down detected that is really there? The three
# problems of bench/judge_control.sh, of which the subject idles a little in every block: TRIALS (20)
# comparisons with the same kernel that does not, of SECONDS (5), each by processes of their own. Next to
# it what as many comparisons of a kernel with itself predict: they say which slow-down they would have
# detected, had the interval been moved by it. About 12 minutes; prints rows of docs/results/judge.md. Nothing else
# should be running. SLOWER_ONLY names some of the problems (compute warm cold).
set -eu
hone=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
trials=${2:-20} seconds=${3:-5}
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$work/cache" XDG_RUNTIME_DIR="$work/run" HONE_TARGET=cpu
cd "$work"

# idle N: the emitted kernel, with N multiplications in every block that wait for each other.
idle() {
    awk -v n="$1" '{ print } /^void .*\(long block,.*\{$/ {
        print "    volatile float idle = 1;\n    float still = idle;\n    for (int i = 0; i < " n "; i++)"
        print "        still = still * 0.5f + 1;\n    idle = still;" }' base.c
}

# slower WHAT TURNS PROBLEM DIMS OPTION...
slower() {
    what=$1 turns=$2 problem=$root/problems/$3.hone dims=$4
    shift 4
    "$hone" emit "$problem" --target cpu --dim "$dims" >base.c
    idle "$turns" >slower.c
    predicted=$("$hone" eval "$problem" base.c --dim "$dims" "$@" --aa "$trials" --seconds "$seconds" |
        sed -n 's/^a slow-down of \([0-9.]*%\) would.*/\1/p')
    : >speedups
    for _ in $(seq "$trials"); do
        "$hone" eval "$problem" slower.c --baseline base.c --dim "$dims" "$@" --seconds "$seconds" --resolution 0.8% --json >json || true
        # What is detected is so by the margin of half a percent.
        awk -F'[:,]' '/"speedup":/ { s = $2 } /"speedup_low":/ { l = $2 } /"speedup_high":/ { h = $2 }
            END { print s + 0, (l / 1.005 > 1 ? "faster" : h * 1.005 < 1 ? "slower" : "same") }' json >>speedups
    done
    sort -n speedups | awk -v what="$what" -v seconds="$seconds" -v predicted="$predicted" '
        { s[NR] = $1; n[$2]++ }
        END { printf "| %s | %s s | %.1f%% | %d of %d slower, %d faster | %s |\n", what, seconds,
              100 * (1 / s[int((NR + 1) / 2)] - 1), n["slower"], NR, n["faster"], predicted }'
}

echo '| problem | comparison | slow-down put in, as seen by half of them | called | predicted: detected in 95% |'
echo '|---|---|---|---|---|'
only=${SLOWER_ONLY:-compute warm cold}
case $only in *compute*) slower 'product 240³' "${SLOWER_TURNS:-700}" gemm M=240,N=240,K=240 ;; esac
case $only in *warm*) slower 'GELU 2048 x 1024, warm' "${SLOWER_TURNS:-350}" gelu M=2048,N=1024 --warm ;; esac
case $only in *cold*) slower 'GELU 2048 x 1024, cold' "${SLOWER_TURNS:-350}" gelu M=2048,N=1024 ;; esac
