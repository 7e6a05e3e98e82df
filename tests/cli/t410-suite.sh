#!/bin/sh
# Policies on tables: the seeds alone decide, however many threads there are; every form of the
# outcome; what does not fit is said.
. "$(dirname "$0")/lib.sh"
cd "$ROOT/tests/tables"
export HONE_BUILD_CC=/nonexistent
suite() { "$HONE" suite cpu-softmax.table h200-gemm.table --seeds 3 "$@"; }

suite --csv --jobs 1 >"$TMP/one"
suite --csv --jobs 3 >"$TMP/three"
cmp "$TMP/one" "$TMP/three" || fail "threads matter"
[ "$(wc -l <"$TMP/one")" = 7 ] || fail "$(cat "$TMP/one")"
head -n 1 "$TMP/one" | grep -q '^table,policy,seeds,evals,' || fail "$(cat "$TMP/one")"
valid suite "$HONE" suite cpu-softmax.table --seeds 2 --json --vary proposer=expert,blind --policy random
grep -q '"against": "blind"' "$TMP/json" || fail "$(cat "$TMP/json")"
expect_match 0 '^\| random \|.* 1.000 \(1.000 to 1.000\) \| - \|' suite --markdown
expect_match 0 '^18 runs, [0-9]+ evaluations' suite
# From the table's first block a policy that draws nothing does the same with every seed.
expect_match 0 '^cpu-softmax.table .* ± 0 ' "$HONE" suite cpu-softmax.table --seeds 3 --start default --vary policy=greedy

expect_match 2 "unknown policy 'mtcs'" suite --vary policy=mtcs
expect_match 2 '[-]-vary takes' suite --vary seed=1,2
expect_match 2 '[-]-vary names no policy' suite --vary policy=
expect_match 2 'this is no table' "$HONE" suite "$ROOT/README.md"
expect_match 2 '[-]-start is any or default' suite --start here
expect_match 2 'one of --json, --csv' suite --csv --json
sed 's/^\(0 .*\) = .*/\1 = wrong/' cpu-softmax.table >"$TMP/wrong.table"
expect_match 2 'its first block is not ok but wrong' "$HONE" suite "$TMP/wrong.table"
