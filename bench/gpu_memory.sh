#!/bin/sh
# bench/gpu_memory.sh HONE [NAME...]: memory-bound problems of KernelBench's level 1 at their own shapes, in f32 and
# where it makes sense in bf16 and f16. For each the champion of `hone optimize --seconds 15` ($SECONDS_EACH), its
# share of reach, and its time against PyTorch, eager and torch.compile (bridge/memory.py). With NAMEs only those,
# as softmax or softmax.bf16. Appends to docs/results/h200-memory.md. $PEERS: "eager compiled", fewer, or none.
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
budget=${SECONDS_EACH:-15} peers=${PEERS-eager compiled}

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

# "1.23x eager, 1.01x compiled", by milliseconds of theirs over ours.
ratios() {
    [ -n "$peers" ] && python3 -c 'import torch' 2>/dev/null || return 0
    # shellcheck disable=SC2086
    python3 "$root/bridge/memory.py" "$1" "$2" $peers 2>peers.err |
        awk -v ours="$3" '{ printf ", %.2fx %s", $2 / ours, $1 }'
}

while read -r name type; do
    status=0
    timeout -s INT -k 5 $((budget + 45)) "$hone" optimize "$name.$type.hone" --target cuda --seconds "$budget" \
        --store store >log 2>&1 </dev/null || status=$?
    champion=$(sed -n 's/^champion  [0-9]*\.[0-9]*: \([0-9.]* [^ ,]*\).*/\1/p' log)
    reach=$(sed -n '/^champion  /,$s/.*[ ;]\([0-9]*%\) of reach.*/\1/p' log | head -n 1)
    ms=$(echo "$champion" | awk '{ print $2 == "ms" ? $1 : $2 == "s" ? $1 * 1000 : $1 / 1000 }')
    row "$name $type" "\`hone optimize --target cuda --seconds $budget\`" \
        "${champion:-none (status $status)}, ${reach:--} of reach$(ratios "$name" "$type" "$ms")"
done <names
