#!/bin/bash
# bench/memory.sh HONE SEEDS TABLES...: does what was learned on a sibling save evaluations? TABLES are directories with
# NAME.hone and NAME.table (hone tabulate); names of one directory that begin with the same letter are siblings: s1, s2.
# For every ordered pair a run of 40 evaluations on the first teaches an empty memory; then the second is searched with it
# and without (hone suite --vary memory=on,off), by SEEDS seeds that each draw the block to begin with, or with
# START=default from the table's first block. Counted are evaluations until the best is within 5% of the table's best.
# POLICY in the environment names another than the default. Nothing is compiled or timed, so the same command gives the same numbers.
set -eu
hone=$(realpath "$1")
seeds=$2
shift 2
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$work/cache" XDG_DATA_HOME="$work/data"

# teach DIR NAME: what a run on it taught is then in $work/DIR-NAME.db.
teach() {
    local db
    db=$work/$(basename "$1")-$2.db
    [ -e "$db" ] || "$hone" optimize "$1/$2.hone" --target "table:$1/$2.table" --memory "$db" --evals 40 --until 1 \
        ${POLICY:+--policy "$POLICY"} --store "$work/runs.db" >/dev/null
}

printf '| tables | taught by | asked | cold | warm | fewer |\n|---|---|---|---:|---:|---:|\n'
for dir in "$@"; do
    for second in "$dir"/*.table; do
        b=$(basename "$second" .table)
        for first in "$dir/${b:0:1}"*.table; do
            a=$(basename "$first" .table)
            [ "$a" != "$b" ] || continue
            teach "$dir" "$a"
            "$hone" suite "$second" --memory "$work/$(basename "$dir")-$a.db" --vary memory=on,off --seeds "$seeds" --csv \
                ${POLICY:+--policy "$POLICY"} --start "${START:-any}" >"$work/csv"
            awk -F, -v head="| $(basename "$dir") | $a | $b |" 'NR == 2 { warm = $4 } NR == 3 { cold = $4 }
                END { printf "%s %.2f | %.2f | %.0f%% |\n", head, cold, warm, 100 * (1 - warm / cold)
                      print cold, warm >>"'"$work/all"'" }' "$work/csv"
        done
    done
done
# All pairs together, with a bootstrap over pairs of the ratio of sums (2000 draws, 95%).
awk '{ c[NR] = $1; w[NR] = $2; cs += $1; ws += $2; less += $2 < $1; more += $2 > $1 }
    END {
        srand(1)
        for (d = 0; d < 2000; d++) {
            x = y = 0
            for (i = 0; i < NR; i++) { k = 1 + int(rand() * NR); x += c[k]; y += w[k] }
            r[d] = 100 * (1 - y / x)
        }
        for (i = 1; i < 2000; i++) { v = r[i]; for (j = i; j > 0 && r[j - 1] > v; j--) r[j] = r[j - 1]; r[j] = v }
        printf "\n%d pairs: %.2f evaluations cold, %.2f warm: %.0f%% fewer (%.0f%% to %.0f%%); fewer in %d, more in %d\n",
            NR, cs / NR, ws / NR, 100 * (1 - ws / cs), r[50], r[1949], less, more
    }' "$work/all"
