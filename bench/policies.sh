#!/bin/bash
# bench/policies.sh HONE OUT POLICIES SEEDS TABLE...: policies live, on a device. POLICIES with commas, SEEDS as "1 2 3".
# As on tables (hone suite) a seed draws the block that its runs begin with, of the rows of TABLE that are ok, and every
# policy begins with the same. A table gives no more than that block and the time of its best, which is what a run
# has to come within 5% of: each candidate is compiled, verified and timed (--race 1), and any legal block may be
# tried. A run is ended as soon as it is there, or after EVALS (8) evaluations; play-off and confirmation, which no
# policy decides, are left out. TABLE is DIR/NAME.table with DIR/NAME.hone next to it, or anything/DEVICE-NAME.table of
# problems/NAME.hone.
#
# OUT gets a line for every evaluation: problem, policy, seed, number, time in µs ("-": it did not pass), the best of the
# table; and one "problem policy seed end" for a whole run. Runs that are there already are not made again, and none is
# begun FOR (unlimited) seconds after the start, so it can be gone on with. With OUT alone the table is made of
# what is there. TARGET (cuda) comes from the environment, and FLAGS for hone optimize. On a machine with other work
# times drift by more than 5% between the table and a run, but not the ratios of what is timed in pairs: with PAIRED=1
# all times of a run are told in the table's, as if the block that it begins with took there and here the same.
#
# With TARGET=table each run is on its table and of the problem in its head, and the same command gives the same numbers:
# for minds that hone suite does not have, as with FLAGS="--llm exec:bench/scripted_model.sh".
set -u
hone=$(realpath "$1")
out=$2
policies=${3:-}
seeds=${4:-}
shift $(($# < 4 ? $# : 4))
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
here=$(cd "$(dirname "$0")/.." && pwd)
touch "$out"

# best_of TABLE: the least time of a block, of which the row with the narrowest interval counts, as for hone.
best_of() {
    awk '/^[0-9]/ {
            at = index($0, " = "); key = substr($0, 1, at - 1)
            if (split(substr($0, at + 3), v, " ") == 3 && v[1] > 0 && (!(key in width) || v[3] / v[2] < width[key])) {
                width[key] = v[3] / v[2]; time[key] = v[1]
            } }
        END { for (key in time) if (best == "" || time[key] < best) best = time[key]; print best }' "$1"
}

# drawn TABLE SEED: a row that is ok, as a kernel block, and on standard error the least time of a row and its own.
drawn() {
    awk -v seed="$2" '/^shape / { shape[n_shapes++] = substr($0, 7) }
        /^[0-9]/ && / = [0-9.]+ [0-9.]+ [0-9.]+$/ { row[n++] = $0; if (n == 1 || $(NF - 2) + 0 < best) best = $(NF - 2) + 0 }
        END {
            x = seed                    # which row: the same wherever awk comes from
            for (i = 0; i < 5; i++) x = (x * 16807 + 12345) % 2147483647
            split(row[x % n], part, " ")
            text = shape[part[1]]
            for (i = 2; part[i] != "="; i++) sub(/\?/, part[i], text)
            gsub(/\|/, "\n", text)
            print text
            for (i = 2; part[i] != "="; i++) ;
            print best, part[i + 1] >"/dev/stderr"
        }' "$1"
}

# live NAME FILE POLICY SEED BEST DRAWN TARGET: a run, from $work/start.hone.
live() {
    local n=0 line time pid scale=1 limit="--seconds 60"
    [ "${TARGET:-}" != table ] || limit=
    exec 3< <(exec "$hone" optimize "$2" --target "$7" --policy "$3" --seed "$4" --race 1 --memory off \
        --start "$work/start.hone" --evals "${EVALS:-8}" $limit --until 1 --no-counters \
        --store "$work/runs.db" --events ${FLAGS:-} 2>>"$work/errors")
    pid=$!
    while read -r line <&3; do
        case $line in *'"event":"evaluated"'*) ;; *) continue ;; esac
        n=$((n + 1))
        time=$(sed -n 's/.*"time_s":\([-0-9.e+]*\).*/\1/p' <<<"$line")
        if [ "$n" = 1 ] && [ -n "${PAIRED:-}" ] && [ -n "$time" ]; then
            scale=$(awk -v t="$time" -v d="$6" 'BEGIN { print d / t / 1e6 }')
        fi
        [ -z "$time" ] || time=$(awk -v t="$time" -v s="$scale" 'BEGIN { print t * 1e6 * s }')
        echo "$1 $3 $4 $n ${time:--} $5" >>"$out"
        if [ -n "$time" ] && awk -v t="$time" -v b="$5" 'BEGIN { exit !(t <= 1.05 * b) }'; then break; fi
        [ "$n" -lt "${EVALS:-8}" ] || break
    done
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    exec 3<&-
    [ "$n" -eq 0 ] || echo "$1 $3 $4 end" >>"$out"
}

for seed in $seeds; do
    for table in "$@"; do
        name=$(basename "$table" .table)
        file=${table%.table}.hone
        [ -e "$file" ] || file=$here/problems/${name#*-}.hone
        name=${name#*-}
        read -r best own <<<"$(drawn "$table" "$seed" 2>&1 >"$work/start.hone")"
        target=${TARGET:-cuda}
        if [ "$target" = table ]; then
            name=$(basename "$table" .table) # of tables of two devices both are told
            target=table:$table
            best=$(best_of "$table")
            file=$work/problem.hone
            printf '%b' "$(sed -n '2s/.*"problem":"\([^"]*\)".*/\1/p' "$table")" >"$file"
        fi
        for policy in ${policies//,/ }; do
            [ "$SECONDS" -lt "${FOR:-100000}" ] || exit 0
            grep -q "^$name $policy $seed end" "$out" || live "$name" "$file" "$policy" "$seed" "$best" "$own" "$target"
        done
    done
done
[ $# -eq 0 ] || { sort "$work/errors" 2>/dev/null | uniq -c | head -5 >&2; exit 0; }

# Seeds that every policy has a whole run of. A run that did not come there counts as one evaluation more than EVALS.
awk -v within=1.05 -v cap="${EVALS:-8}" '
    NF == 4 { whole[$1 " " $2 " " $3]; next }
    { key = $1 " " $2 " " $3; best[$1] = $6
      if (!($1 in problems)) { problems[$1]; order[++np] = $1 }
      if (!($2 in policies)) { policies[$2]; names[++nn] = $2 }
      seeds[$3]
      if ($4 <= cap && $5 != "-" && $5 <= within * $6 && !(key in at)) at[key] = $4 }
    END {
        for (p in problems) for (s in seeds) {
            for (j = 1; j <= nn && (p " " names[j] " " s) in whole; j++) ;
            if (j <= nn) continue
            last = p " " names[nn] " " s
            for (j = 1; j <= nn; j++) {
                key = p " " names[j] " " s
                n = key in at ? at[key] : cap + 1
                to = last in at ? at[last] : cap + 1
                c[p, j]++; sum[p, j] += n; square[p, j] += n * n; missed[p, j] += !(key in at)
                logs[j] += log(n); diffs[j, ++count[j]] = log(n / to); lost[j] += !(key in at)
            }
        }
        printf "| problem | best, µs | seeds |"; for (j = 1; j <= nn; j++) printf " %s |", names[j]
        printf "\n|---|---:|---:|"; for (j = 1; j <= nn; j++) printf "---:|"
        printf "\n"
        for (i = 1; i <= np; i++) {
            printf "| %s | %.1f | %d |", order[i], best[order[i]], c[order[i], 1]
            for (j = 1; j <= nn; j++) {
                k = order[i] SUBSEP j
                if (!c[k]) { printf " - |"; continue }
                m = sum[k] / c[k]
                v = c[k] > 1 ? (square[k] - c[k] * m * m) / (c[k] - 1) : 0
                printf " %.1f ± %.1f%s |", m, 1.96 * sqrt((v > 0 ? v : 0) / c[k]), missed[k] ? sprintf(" (%d not)", missed[k]) : ""
            }
            printf "\n"
        }
        printf "| geometric mean | | |"; for (j = 1; j <= nn; j++) printf " %.2f |", exp(logs[j] / count[j])
        printf "\n| ratio to %s, paired | | |", names[nn]
        for (j = 1; j <= nn; j++) {
            m = v = 0
            for (i = 1; i <= count[j]; i++) m += diffs[j, i] / count[j]
            for (i = 1; i <= count[j]; i++) v += (diffs[j, i] - m) ^ 2 / (count[j] - 1)
            h = 1.96 * sqrt(v / count[j])
            printf " %.2f (%.2f to %.2f) |", exp(m), exp(m - h), exp(m + h)
        }
        printf "\n| not found | | |"; for (j = 1; j <= nn; j++) printf " %d of %d |", lost[j], count[j]
        printf "\n"
    }' "$out"
