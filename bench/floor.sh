#!/bin/sh
# bench/floor.sh HONE SEEDS TABLE...: what a search would need that knew the answer. Each table is copied with its best
# block as the first one, which `surrogate` judges second, whatever block a seed drew to begin with: so it needs one
# evaluation where that is within 5% of the best, and two elsewhere. No policy that has to begin with the drawn block can
# need fewer. Prints the tables of hone suite, next to random's on the same copies.
set -eu
hone=$(realpath "$1")
seeds=$2
shift 2
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
for table; do
    # A block may have several rows: the narrowest interval counts, as it does for hone.
    awk '{ line[NR] = $0 }
        /^[0-9]/ {
            if (!first) first = NR
            at = index($0, " = "); key[NR] = substr($0, 1, at - 1)
            if (split(substr($0, at + 3), v, " ") == 3 && v[1] > 0 && (!(key[NR] in width) || v[3] / v[2] < width[key[NR]])) {
                width[key[NR]] = v[3] / v[2]; time[key[NR]] = v[1]
            } }
        END {
            for (k in time) if (best == "" || time[k] < time[best]) best = k
            for (i = 1; i < first; i++) if (line[i] !~ /^shape /) print line[i]
            for (i = 1; i <= NR; i++) if (line[i] ~ /^shape /) print line[i]
            for (i = first; i <= NR; i++) if (key[i] == best) print line[i]
            for (i = first; i <= NR; i++) if (line[i] !~ /^shape / && key[i] != best) print line[i]
        }' "$table" >"$work/$(basename "$table")"
done
"$hone" suite "$work"/*.table --seeds "$seeds" --markdown --vary policy=surrogate,random
