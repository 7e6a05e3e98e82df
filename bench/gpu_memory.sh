#!/bin/sh
# bench/gpu_memory.sh HONE [NAME...]: memory-bound problems of KernelBench's level 1 at their own shapes, in f32 and
# where it makes sense in bf16 and f16. For each the champion of `hone optimize --seconds 15` ($SECONDS_EACH), its
# share of reach, and its time against PyTorch, eager and torch.compile (bridge/memory.py). With NAMEs only those,
# as softmax or softmax.bf16. Appends to docs/results/h200-memory.md. $PEERS: "eager compiled", fewer, or none.
# It may be called again and again: what has a row is not measured again ($AGAIN: it is), and after $FOR_S seconds no
# search begins, PyTorch is timed at those that were searched, and their rows are written.
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
budget=${SECONDS_EACH:-15} peers=${PEERS-eager compiled} for_s=${FOR_S:-$BENCH_SECONDS}

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
    timeout -s INT -k 5 $((budget + 45)) "$hone" optimize "$name.$type.hone" --target cuda --seconds "$budget" \
        --store store >log 2>&1 </dev/null || status=$?
    champion=$(sed -n 's/^champion  [0-9]*\.[0-9]*: \([0-9.]* [^ ,]*\).*/\1/p' log)
    reach=$(sed -n '/^champion  /,$s/.*[ ;]\([0-9]*%\) of reach.*/\1/p' log | head -n 1)
    ms=$(echo "$champion" | awk '{ print $2 == "ms" ? $1 : $2 == "s" ? $1 * 1000 : $1 / 1000 }')
    echo "$name $type $ms|${champion:-none (status $status)}, ${reach:--} of reach" >>measured
    echo "$name $type: ${champion:-none (status $status)}, ${reach:--} of reach" >&2
done <names

# Peers of all of them at once, since PyTorch takes seconds to begin; then the rows.
: >theirs
if [ -s measured ] && [ -n "$peers" ] && python3 -c 'import torch' 2>/dev/null; then
    # shellcheck disable=SC2086
    timeout -k 5 $((BENCH_SECONDS - $(elapsed) - 10)) python3 "$root/bridge/memory.py" \
        "$(awk -F'[ |]' '{ printf "%s%s.%s", (NR > 1 ? "," : ""), $1, $2 }' measured)" $peers \
        >theirs 2>peers.err || echo "gpu_memory.sh: $(tail -n 1 peers.err)" >&2
fi
# "1.23x eager, 1.01x compiled", by milliseconds of theirs over ours.
ratios() {
    awk -v name="$1" -v ours="$2" '$1 == name && ours > 0 { printf ", %.2fx %s", $3 / ours, $2 }' theirs
}
while IFS='|' read -r what text; do
    # shellcheck disable=SC2086
    set -- $what
    row "$1 $2" "\`hone optimize --target cuda --seconds $budget\`" "$text$(ratios "$1.$2" "${3:-0}")"
done <measured
[ "$n_left" = 0 ] || echo "gpu_memory.sh: $n_left of $(wc -l <names) are left for another call"
