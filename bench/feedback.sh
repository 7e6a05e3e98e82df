#!/bin/bash
# feedback.sh HONE TABLE...: does the expert find faster kernels when it hears the tools, at equal evaluations?
# Searches each table of measured blocks (docs/tables.md) with --feedback tools, raw and none, SEEDS seeds
# (default 10), EVALS evaluations (default 8) each and POLICY (default: that of hone optimize). The default kernel is often the best already, so
# each seed begins with another block of the table, the same for all three. Champions are compared seed by
# seed: how many times as fast with tools, the mean over seeds and over problems with its 95% interval
# (of logarithms).
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
    for kind in tools raw none; do
        for ((seed = 0; seed < ${SEEDS:-10}; seed++)); do
            slow_block "$table" "$seed" 1.3 >"$work/start.hone" || continue
            "$hone" optimize "$problems/$name.hone" --target "table:$table" --evals "${EVALS:-8}" --seed "$seed" ${POLICY:+--policy "$POLICY"} \
                --feedback $kind --start "$work/start.hone" --until 1 --store "$work/store" --json >"$work/json" 2>/dev/null || continue
            echo "$name $seed $kind $(sed -n 's/^    "time_s": \([0-9.e-]*\).*/\1/p' "$work/json" | head -1)"
        done
    done
done >"$work/all"
awk '
{ t[$1, $2, $3] = $4; names[$1] = 1; seeds[$2] = 1 }
function line(label, n, sum, squares,   mean, half) {
    mean = n ? sum / n : 0
    half = n > 1 ? 1.96 * sqrt((squares / n - mean * mean > 0 ? squares / n - mean * mean : 0) / (n - 1)) : 0
    return sprintf("%s%.3fx [%.3f, %.3f]", label, exp(mean), exp(mean - half), exp(mean + half))
}
END {
    printf "%-22s %-28s %s\n", "problem", "tools over raw", "tools over none"
    for (name in names) {
        for (k = 0; k < 2; k++) {
            kind = k ? "none" : "raw"; n = sum = squares = 0
            for (seed in seeds)
                if (t[name, seed, "tools"] > 0 && t[name, seed, kind] > 0) {
                    x = log(t[name, seed, kind] / t[name, seed, "tools"]); n++; sum += x; squares += x * x
                }
            text[k] = line("", n, sum, squares)
            if (n) { all_n[k]++; all[k] += sum / n; all2[k] += (sum / n) ^ 2 }
        }
        printf "%-22s %-28s %s\n", name, text[0], text[1]
    }
    printf "%-22s %-28s %s\n", "all problems", line("", all_n[0], all[0], all2[0]), line("", all_n[1], all[1], all2[1])
}' "$work/all"
