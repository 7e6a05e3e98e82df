#!/bin/bash
# bench/memory.sh HONE SEEDS TABLES...: does what was learned on a sibling save evaluations? TABLES are directories with
# NAME.hone and NAME.table (hone tabulate); names of one directory that begin with the same letter are siblings: s1, s2.
# For every ordered pair a run of 40 evaluations on the first teaches an empty memory; then the second is searched with it
# and without (hone suite --vary memory=on,off), by SEEDS seeds that each draw the block to begin with, or with
# START=default as hone optimize begins: with the default kernel, or with memory's where that should be faster. Counted are
# evaluations until the best is within 5% of the table's best. Nothing is compiled or timed, so the same command gives the
# same numbers. In the environment: POLICY names another than the default; SKIP="g7 s7" leaves siblings out and ONLY="g7 s7"
# takes the pairs that one of them is in (held out while the rest was looked at); TAUGHT=all has all others teach one memory;
# RACE=24 searches by races, whose counts are told twice: of what was judged, and of what was timed, screened kernels included.
set -eu
hone=$(realpath "$1")
seeds=$2
shift 2
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$work/cache" XDG_DATA_HOME="$work/data"

# teach DIR NAME MEMORY
teach() {
    "$hone" optimize "$1/$2.hone" --target "table:$1/$2.table" --memory "$3" --evals 40 --until 1 \
        ${POLICY:+--policy "$POLICY"} ${RACE:+--race "$RACE"} --store "$work/runs.db" >/dev/null
}

# is_meant A B: is this pair to be looked at?
is_meant() {
    local x
    [ "$1" != "$2" ] || return 1
    for x in ${SKIP:-}; do [ "$x" != "$1" ] && [ "$x" != "$2" ] || return 1; done
    for x in ${ONLY:-}; do [ "$x" != "$1" ] && [ "$x" != "$2" ] || return 0; done
    [ -z "${ONLY:-}" ]
}

# compare DIR A B MEMORY: a row of the table; A is who taught.
compare() {
    "$hone" suite "$1/$3.table" --memory "$4" --vary memory=on,off --seeds "$seeds" --csv \
        ${RACE:+--race "$RACE"} ${POLICY:+--policy "$POLICY"} --start "${START:-any}" >"$work/csv"
    awk -F, -v head="| $(basename "$1") | $2 | $3 |" -v asked="$(basename "$1")-$3" 'NR == 2 { warm = $4; warm_timed = $4 + $8 } NR == 3 { cold = $4; cold_timed = $4 + $8 }
        END { printf "%s %.2f | %.2f | %.0f%% |\n", head, cold, warm, 100 * (1 - warm / cold)
              print cold, warm, asked >>"'"$work/all"'"
              print cold_timed, warm_timed, asked >>"'"$work/timed"'" }' "$work/csv"
}

printf '| tables | taught by | asked | cold | warm | fewer |\n|---|---|---|---:|---:|---:|\n'
for dir in "$@"; do
    for second in "$dir"/*.table; do
        b=$(basename "$second" .table)
        all=$work/$(basename "$dir")-all-$b.db
        for first in "$dir/${b:0:1}"*.table; do
            a=$(basename "$first" .table)
            is_meant "$a" "$b" || continue
            if [ "${TAUGHT:-}" = all ]; then
                teach "$dir" "$a" "$all"
                continue
            fi
            db=$work/$(basename "$dir")-$a.db
            [ -e "$db" ] || teach "$dir" "$a" "$db"
            compare "$dir" "$a" "$b" "$db"
        done
        [ ! -e "$all" ] || compare "$dir" others "$b" "$all"
    done
done
# together FILE WHAT [WHICH]: all pairs together, with a bootstrap of the ratio of sums (2000 draws, 95%): over pairs, and over the problems that were
# asked, all pairs of one of them together, since these have the cold run in common.
together() {
    awk -v what="$2" -v which="${3:-}" '{ c[NR] = $1; w[NR] = $2; cs += $1; ws += $2; less += $2 < $1; more += $2 > $1
       if (!($3 in at)) at[$3] = np++
       pc[at[$3]] += $1; pw[at[$3]] += $2 }
    function interval(of, n,    d, i, j, k, x, y, v) {
        for (d = 0; d < 2000; d++) {
            x = y = 0
            for (i = 0; i < n; i++) {
                k = int(rand() * n)
                x += of ? pc[k] : c[1 + k]; y += of ? pw[k] : w[1 + k]
            }
            r[d] = 100 * (1 - y / x)
        }
        for (i = 1; i < 2000; i++) { v = r[i]; for (j = i; j > 0 && r[j - 1] > v; j--) r[j] = r[j - 1]; r[j] = v }
        return sprintf("%.0f%% to %.0f%%", r[50], r[1949])
    }
    END {
        srand(1)
        printf "\n%d pairs%s: %.2f %s cold, %.2f warm: %.0f%% fewer (%s over pairs, %s over problems); fewer in %d, more in %d\n",
            NR, which, cs / NR, what, ws / NR, 100 * (1 - ws / cs), interval(0, NR), interval(1, np), less, more
    }' "$1"
}
together "$work/all" evaluations
# As hone optimize begins there is nothing to save where the default kernel is within 5% of the best.
awk '$1 > 1' "$work/all" >"$work/left"
[ "${START:-}" != default ] || [ ! -s "$work/left" ] || together "$work/left" evaluations " where a cold run needs more than one"
[ -z "${RACE:-}" ] || together "$work/timed" "kernels timed"
