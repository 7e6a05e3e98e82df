#!/bin/sh
# bench/cpu_set.sh HONE [NAME...]: memory-bound problems on this CPU (bench/cpu_problems.sh): each champion of
# `hone optimize --seconds 10` ($SECONDS_EACH), its share of reach, and a kernel of ours that only moves as many bytes in
# and out on the same threads in the same run (bench/peer_traffic.c). A table in Markdown; nothing else should be
# running. With names, only those problems.
set -eu
hone=$(realpath "$1")
shift
names=$*
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$work/cache}" HONE_MEMORY_PATH=off HONE_TARGET=cpu
cd "$work"
seconds=${SECONDS_EACH:-10}

cc -O3 -march=native -fopenmp -I"$root/bench" -o traffic "$root/bench/peer_traffic.c"
"$hone" calibrate --json >ceilings.json
echo "\`bench/cpu_set.sh\` on $(date -u +%F): $(sed -n 's/.*"device": "\(.*\)",/\1/p' ceilings.json | head -n 1);" \
    "$(cc --version | head -n 1); hone $("$hone" --version | cut -d' ' -f2), $seconds s per optimisation."
echo
echo '| problem | champion | of reach | streaming kernel | of its speed | over plain | evaluations + screened | stage |'
echo '|---|---|---|---|---|---|---|---|'

# field FILE KEY: the first number called KEY in a pretty-printed document.
field() {
    sed -n "s/.*\"$2\": \([-0-9.e+]*\).*/\1/p" "$1" | head -n 1
}

# problem NAME TYPE: optimise the text that comes in and append its row.
problem() {
    { echo "problem $1" && sed "s/: T\\b/: $2/"; } >"$1.hone"
    case " $names " in '  ' | *" $1 "*) ;; *) return 0 ;; esac
    if ! "$hone" optimize "$1.hone" --seconds "$seconds" --store "$work/runs-$1-$2" --json >out.json 2>err; then
        echo "| $1 $2 | $(head -n 1 err) | | | | | | |"
        return 0
    fi
    stream=$(./traffic "$(awk -v b="$(field out.json bytes_read)" 'BEGIN { printf "%d", b }')" \
        "$(awk -v b="$(field out.json bytes_written)" 'BEGIN { printf "%d", b }')")
    sed -n '/"champion": {/,/}/p' out.json >champion
    sed -n '/"speedup": {/,/}/p' out.json >speedup
    stage=$(sed -n 's/.*"kernel": "\(.*\)",/\1/p' champion | sed 's/^kernel for [^\\]*\\n//; s/\\n/; /g; s/  */ /g; s/; $//')
    awk -v name="$1 $2" -v ms="$(awk -v s="$(field champion time_s)" 'BEGIN { print s * 1e3 }')" -v reach="$(field out.json fraction)" \
        -v stream="$stream" -v over="$(field speedup value)" -v n="$(field out.json evals)" \
        -v screened="$(field out.json screened)" -v stage="$stage" 'BEGIN {
        printf "| %s | %.3f ms | %.0f%% | %.3f ms | %.2f | %.1fx | %d + %d | %s |\n",
               name, ms, 100 * reach, stream, stream / ms, over, n, screened, stage }' | tee -a rows
}
# shellcheck disable=SC1091
. "$root/bench/cpu_problems.sh"
awk -F'|' '{ split($4, a, "%"); r[n++] = a[1] + 0 } END {
    for (i = 1; i < n; i++) for (j = i; j > 0 && r[j - 1] > r[j]; j--) { t = r[j]; r[j] = r[j - 1]; r[j - 1] = t }
    if (!n) exit
    for (i = 0; i < n; i++) good += r[i] >= 85
    printf "\n%d problems: %d at 85%% of reach or more, median %.0f%%, least %.0f%%.\n", n, good,
           (r[int((n - 1) / 2)] + r[int(n / 2)]) / 2, r[0] }' rows
