#!/bin/bash
# expected.sh HONE TABLE...: what moves were expected to bring and what they brought, tool by tool. Searches each
# table (those of tests/tables/counted have counters) with the moves of the expert, one knob each (policy greedy), from SEEDS (default 8) slow blocks,
# EVALS (default 12) evaluations each, and prints `hone tools` over all runs. MEMORY=off (the default):
# expectations are the tools' own; MEMORY=FILE: calibrated by the runs before.
set -u
hone=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
problems=$(cd "$(dirname "$0")/.." && pwd)/problems

# shellcheck disable=SC1091
. "$(dirname "$0")/table_lib.sh"

for table in "$@"; do
    name=$(basename "$table" .table)
    name=${name#*-}
    for ((seed = 0; seed < ${SEEDS:-8}; seed++)); do
        slow_block "$table" "$seed" 1.1 >"$work/start.hone" || continue
        "$hone" optimize "$problems/$name.hone" --target "table:$table" --policy greedy --evals "${EVALS:-12}" --seed "$seed" \
            --memory "${MEMORY:-off}" --start "$work/start.hone" --until 1 --store "$work/store" >/dev/null 2>&1
    done
done
"$hone" tools --store "$work/store" | awk 'NR == 1 || /^(all|confidence)/ || $4 > 0'
