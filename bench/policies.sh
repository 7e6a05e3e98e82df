#!/bin/bash
# bench/policies.sh HONE OUT POLICIES SEEDS PROBLEM...: policies live, on a device. POLICIES with commas, SEEDS as
# "1 2 3". Every run begins at the default kernel, judges each candidate (--race 1) and remembers nothing. OUT gets a
# line for every evaluation: problem, policy, seed, number, time in µs ("-": it did not pass). With OUT alone (no
# PROBLEM) the table is made of what is there: evaluations to within 5% of the best that any run found.
# EVALS (14), SECONDS (6) and TARGET (cuda) come from the environment.
set -u
hone=$(realpath "$1")
out=$2
policies=${3:-}
seeds=${4:-}
shift $(($# < 4 ? $# : 4))
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

for problem in "$@"; do
    name=$(basename "$problem" .hone)
    for seed in $seeds; do
        for policy in ${policies//,/ }; do
            "$hone" optimize "$problem" --target "${TARGET:-cuda}" --policy "$policy" --seed "$seed" --race 1 \
                --evals "${EVALS:-14}" --seconds "${SECONDS_EACH:-6}" --until 1 --no-counters --memory off \
                --store "$work/runs.db" --events 2>/dev/null |
                awk -v head="$name $policy $seed" '/"event":"evaluated"/ {
                    n++
                    t = "-"
                    if (match($0, /"time_s":[-0-9.e+]+/)) t = substr($0, RSTART + 9, RLENGTH - 9) * 1e6
                    print head, n, t
                }' >>"$out"
        done
    done
done
[ $# -eq 0 ] || exit 0

awk -v within=1.05 '
    { key = $1 " " $2 " " $3; seen[key] = $4 > seen[key] ? $4 : seen[key]
      if (!($1 in problems)) { problems[$1]; order[++np] = $1 }
      if (!($2 in policies)) { policies[$2]; names[++nn] = $2 }
      if ($5 == "-") next
      if (!($1 in best) || $5 + 0 < best[$1]) best[$1] = $5 + 0
      time[key, $4] = $5 + 0
      if (!(key in least) || $5 + 0 < least[key]) least[key] = $5 + 0 }
    END {
        for (key in seen) {
            split(key, part, " ")
            n = seen[key] + 1
            for (i = 1; i <= seen[key]; i++)
                if ((key, i) in time && time[key, i] <= within * best[part[1]]) { n = i; break }
            c[part[1], part[2]]++
            sum[part[1], part[2]] += n
            square[part[1], part[2]] += n * n
            missed[part[1], part[2]] += n > seen[key]
            found[part[1], part[2]] += best[part[1]] / least[key]
            all[part[2]] += log(n); count[part[2]]++
            near[part[2]] += best[part[1]] / least[key]
        }
        printf "| problem | best, µs |"; for (j = 1; j <= nn; j++) printf " %s |", names[j]
        printf "\n|---|---:|"; for (j = 1; j <= nn; j++) printf "---:|"
        printf "\n"
        for (i = 1; i <= np; i++) {
            printf "| %s | %.1f |", order[i], best[order[i]]
            for (j = 1; j <= nn; j++) {
                k = order[i] SUBSEP names[j]
                if (!c[k]) { printf " - |"; continue }
                m = sum[k] / c[k]
                v = c[k] > 1 ? (square[k] - c[k] * m * m) / (c[k] - 1) : 0
                printf " %.1f ± %.1f%s |", m, 1.96 * sqrt((v > 0 ? v : 0) / c[k]), missed[k] ? sprintf(" (%d of %d not)", missed[k], c[k]) : ""
            }
            printf "\n"
        }
        printf "| geometric mean | |"; for (j = 1; j <= nn; j++) printf " %.2f |", exp(all[names[j]] / count[names[j]])
        printf "\n| best over found, mean | |"; for (j = 1; j <= nn; j++) printf " %.1f%% |", 100 * near[names[j]] / count[names[j]]
        printf "\n"
    }' "$out"
