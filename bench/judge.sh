#!/bin/sh
# bench/judge.sh HONE: what a verdict costs on the CPU, next to the red team's count. Markdown, as in
# docs/results/judge.md. Nothing else should be running.
set -eu
hone=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$work/cache" HONE_TARGET=cpu
cd "$work"
n=${BENCH_VERDICTS:-15}

row() {
    printf '| %s | %s | %s |\n' "$1" "$2" "$3"
}
# field FILE KEY: the first number called KEY.
field() {
    sed -n "s/.*\"$2\": \([-0-9.e+]*\).*/\1/p" "$1" | head -n 1
}
median() {
    sort -n | awk '{ a[NR] = $1 } END { printf "%.3g", NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'
}

# judge M: a screening of candidate.c against another kernel; its document in verdict.json.
judge() {
    "$hone" eval "$root/tests/exploits/softmax.hone" candidate.c --dim "M=$1" --screen \
        --baseline "$root/tests/exploits/honest/softmax_double.c" --json >verdict.json
}

# screen NAME M: judge a candidate that nobody compiled before; a line "wall compile overhead", in
# milliseconds. Overhead is what is neither the compiler's, nor calls, nor their truth, nor the null
# kernels of a new problem; what is done while the compiler works is not in it.
screen() {
    sed "1s/\$/ $1/" "$root/tests/exploits/honest/softmax_plain.c" >candidate.c
    begin=$(date +%s%N)
    judge "$2"
    awk -v ns=$(($(date +%s%N) - begin)) -v compile="$(field verdict.json compile)" \
        -v truth="$(field verdict.json truth)" -v inputs="$(field verdict.json inputs)" \
        -v verify="$(field verdict.json verify)" -v time="$(field verdict.json time)" \
        -v null="$(field verdict.json null_kernel)" 'BEGIN {
        wall = ns / 1e6
        spent = 1e3 * (compile + truth + inputs + verify + time + null)
        printf "%.2f %.2f %.2f\n", wall, 1e3 * compile, wall - spent }'
}

# start M: milliseconds per runner for the same candidate again, when there is no compiler that
# they could be started meanwhile.
start() {
    judge "$1"
    awk -v runners="$(field verdict.json runners)" 'BEGIN { printf "%.2f\n", 1e3 * runners / 2 }'
}

screen first 1024 >/dev/null # compiles the baseline, tries the sandbox
i=0
while [ $i -lt "$n" ]; do
    screen "number $i" 1024
    start 1024 >>starts
    screen "small $i" 64 >>small
    start 64 >>small_starts
    i=$((i + 1))
done >screens
wall=$(cut -d' ' -f1 screens | median)
echo "# The judge on the CPU, measured"
echo
echo "\`bench/judge.sh\` on $(date -u +%F): $("$hone" devices | head -n 1 | sed 's/  */ /g');" \
    "$(cc --version | head -n 1); hone $("$hone" --version | cut -d' ' -f2). Medians of $n" \
    "candidates that were not compiled before, softmax 1024 x 250, 2 runners each, one command each."
echo
echo '| what | measured | aim |'
echo '|---|---|---|'
row 'screening verdict, from command to answer' "$wall ms" 'under 500 ms'
row 'screening verdicts a minute, one after the other' \
    "$(awk -v ms="$wall" 'BEGIN { printf "%.0f", 60000 / ms }')" 'at least 60'
row 'of it the compiler' "$(cut -d' ' -f2 screens | median) ms" '(stated, no aim)'
row 'of it our own: beyond compiler, truth and calls' "$(cut -d' ' -f3 screens | median) ms" 'under 50 ms'
row 'start of one sandboxed runner, candidate loaded, 8 MB of buffers (64 x 250, 64 slots)' \
    "$(median <small_starts) ms" 'under 10 ms'
row 'the same with 66 MB of buffers, touched for the first time (1024 x 250, 33 slots)' "$(median <starts) ms" \
    '(stated, no aim)'
row 'our own, 64 x 250' "$(cut -d' ' -f3 small | median) ms" 'under 50 ms'
begin=$(date +%s%N)
summary=$("$root/tests/exploits/run.sh" "$hone" | tail -n 1)
row "the red team ($(awk -v ns=$(($(date +%s%N) - begin)) 'BEGIN { printf "%.0f s", ns / 1e9 }'))" "$summary" \
    '0 cheats pass, 0 honest refused, 90% caught without scans'
