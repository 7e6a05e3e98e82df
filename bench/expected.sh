#!/bin/bash
# expected.sh HONE TABLE...: what moves were expected to bring and what they brought, tool by tool. Searches each
# table (those of tests/tables/counted have counters) with the expert from SEEDS (default 8) slow blocks,
# EVALS (default 12) evaluations each, and prints `hone tools` over all runs. MEMORY=off (the default):
# expectations are the tools' own; MEMORY=FILE: calibrated by the runs before.
set -u
hone=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
problems=$(cd "$(dirname "$0")/.." && pwd)/problems

# block TABLE K: the K-th (in some fixed order) of the blocks that take at least 1.1 times the least.
block() {
    awk -v k="$2" '
    /^shape / { shapes[n_shapes++] = substr($0, 7) }
    /^[0-9]+ .* = [0-9.]+ / { rows[n] = $0; split($0, half, " = "); split(half[2], t, " "); times[n++] = t[1]
                              if (!best || t[1] < best) best = t[1] }
    END {
        for (i = 0; i < n; i++) if (times[i] >= 1.1 * best) slow[n_slow++] = i
        if (!n_slow) exit 1
        split(rows[slow[(k * 7919 + 13) % n_slow]], half, " = ")
        m = split(half[1], word, " "); text = shapes[word[1]]
        for (i = 2; i <= m; i++) sub(/[?]/, word[i], text)
        gsub(/[|]/, "\n", text)
        print text
    }' "$1"
}

for table in "$@"; do
    name=$(basename "$table" .table)
    name=${name#*-}
    for ((seed = 0; seed < ${SEEDS:-8}; seed++)); do
        block "$table" "$seed" >"$work/start.hone" || continue
        "$hone" optimize "$problems/$name.hone" --target "table:$table" --evals "${EVALS:-12}" --seed "$seed" \
            --memory "${MEMORY:-off}" --start "$work/start.hone" --until 1 --store "$work/store" >/dev/null 2>&1
    done
done
"$hone" tools --store "$work/store" | awk 'NR == 1 || /^all:/ || $4 > 0'
