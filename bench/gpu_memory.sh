#!/bin/sh
# bench/gpu_memory.sh HONE [NAME...]: memory-bound problems of KernelBench's level 1 at their own shapes, in f32 and
# where it makes sense in bf16 and f16. For each the champion of `hone optimize --seconds 15` ($SECONDS_EACH), its
# share of reach, and its time against PyTorch, eager and torch.compile (bridge/memory.py). With NAMEs only those,
# in that order, as softmax or softmax.bf16. Appends to docs/results/h200-memory.md. $PEERS: "eager compiled", fewer, or none.
# It may be called again and again: what has a row is not measured again ($AGAIN: it is), and after $FOR_S seconds no
# search begins, PyTorch is timed at those that were searched, and their rows are written. A row also says what share of
# the champion's speed the first kernel of that search had. $LOGS: a directory for what each search printed;
# $OVER_S: seconds after its time when a search is stopped (45); $OPTIONS: more options of `hone optimize`.
set -eu
export HONE_MEMORY_PATH=off
hone=$1
shift
only=" $* "
root=$(cd "$(dirname "$0")/.." && pwd)
BENCH_SECONDS=${BENCH_SECONDS:-3600}
[ -z "${BENCH_IS_LIMITED:-}" ] || only=$BENCH_ONLY
export BENCH_SECONDS BENCH_ONLY="$only"
set -- "$hone"
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"
options=${OPTIONS:-} budget=${SECONDS_EACH:-15} peers=${PEERS-eager compiled} for_s=${FOR_S:-$BENCH_SECONDS}

# problem NAME TYPES: its text comes in, T stands for the type; see memory_set.sh.
: >names
problem() {
    cat >text
    for type in $2; do
        case $only in "  " | *" $1 "* | *" $1.$type "*) ;; *) continue ;; esac
        { echo "problem $1" && sed "s/\\bT\\[/${type}[/" text; } >"$1.$type.hone"
        echo "$1 $type" >>names
    done
}

# shellcheck disable=SC1091
. "$root/bench/memory_set.sh"
for one in $only; do
    awk -v one="$one" '$1 == one || $1 "." $2 == one' names
done >ordered
[ "$only" = "  " ] || mv ordered names

# A problem that has a row with a champion is not measured again ($AGAIN: it is).
is_done() {
    [ -z "${AGAIN:-}" ] && [ -e "$results" ] && grep -q "| $1 $2 | .* of reach" "$results" &&
        ! grep "| $1 $2 |" "$results" | tail -n 1 | grep -q '| none'
}

# elapsed: seconds since the script began.
begun=$(date +%s)
elapsed() {
    echo $(($(date +%s) - begun))
}

# PyTorch takes seconds to begin: it does so while the searches go on, and waits for the names of what they measured.
: >theirs
mkfifo asked
peers_pid=
if [ -n "$peers" ]; then
    trap '' PIPE
    # shellcheck disable=SC2086
    timeout -k 2 $((BENCH_SECONDS - 4)) python3 "$root/bridge/memory.py" - $peers <asked >theirs 2>peers.err &
    peers_pid=$!
    exec 3>asked
fi

# first_share CHAMPION: of the log, the speed of the first kernel as a share of the champion's.
first_share() {
    awk -v id="$1" '{ sub(/\*$/, "", $1) }
        $1 == id && $2 == "ok" { share = $1 ~ /\.0$/ ? 100 : $6 > 0 ? 100 / $6 : 0 }
        END { if (share) printf ", first kernel %.0f%%", share }' log
}

# Searches, as many as begin within $FOR_S.
n_left=0
: >measured
while read -r name type; do
    is_done "$name" "$type" && continue
    if [ "$(elapsed)" -ge "$for_s" ]; then
        n_left=$((n_left + 1))
        continue
    fi
    status=0
    # shellcheck disable=SC2086
    timeout -s INT -k 5 $((budget + ${OVER_S:-45})) "$hone" optimize "$name.$type.hone" --target cuda --seconds "$budget" $options \
        --store store >log 2>&1 </dev/null 3>&- || status=$?
    [ -z "${LOGS:-}" ] || cp log "$LOGS/$name.$type.log"
    champion=$(sed -n 's/^champion  [0-9]*\.[0-9]*: \([0-9.]* [^ ,]*\).*/\1/p' log)
    reach=$(sed -n '/^champion  /,$s/.*[ ;]\([0-9]*%\) of reach.*/\1/p' log | head -n 1)
    ms=$(echo "$champion" | awk '{ print $2 == "ms" ? $1 : $2 == "s" ? $1 * 1000 : $1 / 1000 }')
    echo "$name $type $ms|${champion:-none (status $status)}, ${reach:--} of reach$(first_share "$(sed -n 's/^champion  \([0-9.]*\):.*/\1/p' log)")" >>measured
    echo "$name $type: ${champion:-none (status $status)}, ${reach:--} of reach" >&2
done <names

# Peers of all of them at once; then the rows.
if [ -n "$peers_pid" ]; then
    awk -F'[ |]' '{ printf "%s%s.%s", (NR > 1 ? "," : ""), $1, $2 }' measured >&3 || :
    exec 3>&-
    wait "$peers_pid" || echo "gpu_memory.sh: $(tail -n 1 peers.err)" >&2
    [ -z "${LOGS:-}" ] || cp theirs peers.err "$LOGS"
fi
# "1.23x eager, 1.01x compiled", by milliseconds of theirs over ours.
ratios() {
    awk -v name="$1" -v ours="$2" '$1 == name && ours > 0 { printf ", %.2fx %s", $3 / ours, $2 }' theirs
}
while IFS='|' read -r what text; do
    # shellcheck disable=SC2086
    set -- $what
    row "$1 $2" "\`hone optimize --target cuda --seconds $budget${options:+ $options}\`" "$text$(ratios "$1.$2" "${3:-0}")"
done <measured
[ "$n_left" = 0 ] || echo "gpu_memory.sh: $n_left of $(wc -l <names) are left for another call"
