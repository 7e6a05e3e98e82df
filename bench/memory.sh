#!/bin/bash
# bench/memory.sh HONE TABLES [SEEDS [EVALS]]: does what was learned on a sibling save evaluations? TABLES is a
# directory with NAME.hone and NAME.table (hone tabulate); names that begin with the same letter are siblings: s1, s2.
# For every ordered pair and seed (5): a run on the first teaches an empty memory, then the second is searched cold
# (--memory off) and warm, both with that seed. Counted are evaluations (at most EVALS, 40) until the best is within
# 5% of the table's best block. POLICY in the environment names another than the default. Nothing is compiled or
# timed, so the same command gives the same numbers.
set -eu
hone=$(realpath "$1")
tables=$(realpath "$2")
seeds=${3:-5}
evals=${4:-40}
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$work/cache" XDG_DATA_HOME="$work/data"
cd "$work"

# search NAME SEED MEMORY: events of a run on its table.
search() {
    "$hone" optimize "$tables/$1.hone" --target "table:$tables/$1.table" --seed "$2" --memory "$3" --evals "$evals" \
        --until 1 ${POLICY:+--policy "$POLICY"} --store "$work/runs.db" --events
}
# best NAME: the fastest time of the table, in seconds.
best() {
    awk '$0 !~ /^plain/ && / = [0-9.]+ [0-9.]+ [0-9.]+$/ { t = $(NF - 2) + 0; if (!n++ || t < least) least = t }
        END { printf "%.9g", least * 1e-6 }' "$tables/$1.table"
}
# count BEST: evaluations until one is within 5% of it; the limit where none was.
count() {
    sed -n 's/.*"event":"evaluated".*"time_s":\([-0-9.e+]*\),.*"evals":\([0-9]*\),.*/\2 \1/p' |
        awk -v best="$1" -v limit="$evals" '!found && $2 <= 1.05 * best { print found = $1 }
            END { if (!found) print limit }'
}

printf '| taught by | asked | cold | warm | fewer |\n|---|---|---:|---:|---:|\n'
for second in "$tables"/*.table; do
    b=$(basename "$second" .table)
    least=$(best "$b")
    for ((seed = 0; seed < seeds; seed++)); do
        search "$b" "$seed" off | count "$least" >"cold.$b.$seed"
    done
    for first in "$tables/${b:0:1}"*.table; do
        a=$(basename "$first" .table)
        [ "$a" != "$b" ] || continue
        for ((seed = 0; seed < seeds; seed++)); do
            rm -f m.db
            search "$a" "$seed" "$work/m.db" >/dev/null
            search "$b" "$seed" "$work/m.db" | count "$least" >"warm.$seed"
            paste "cold.$b.$seed" "warm.$seed" | tee -a all
        done | awk -v a="$a" -v b="$b" '{ c += $1; w += $2 }
            END { printf "| %s | %s | %.1f | %.1f | %.0f%% |\n", a, b, c / NR, w / NR, 100 * (1 - w / c) }'
    done
done
# All pairs together, with a bootstrap of the paired ratio of sums (2000 draws, 95%).
awk '{ c[NR] = $1; w[NR] = $2; cs += $1; ws += $2; less += $2 < $1; more += $2 > $1 }
    END {
        srand(1)
        for (d = 0; d < 2000; d++) {
            x = y = 0
            for (i = 0; i < NR; i++) { k = 1 + int(rand() * NR); x += c[k]; y += w[k] }
            r[d] = 100 * (1 - y / x)
        }
        for (i = 1; i < 2000; i++) { v = r[i]; for (j = i; j > 0 && r[j - 1] > v; j--) r[j] = r[j - 1]; r[j] = v }
        printf "\n%d pairs of runs: %.1f evaluations cold, %.1f warm: %.0f%% fewer (%.0f%% to %.0f%%); fewer in %d, more in %d\n",
            NR, cs / NR, ws / NR, 100 * (1 - ws / cs), r[50], r[1949], less, more
    }' all
