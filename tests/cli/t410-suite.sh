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

# With what a run on a sibling taught, and without: read, never written.
cd "$ROOT/bench/memory/h200"
"$HONE" optimize s1.hone --target table:s1.table --memory "$TMP/m.db" --store "$TMP/runs.db" --evals 12 --until 1 >/dev/null
cp "$TMP/m.db" "$TMP/before.db"
"$HONE" suite s2.table --memory "$TMP/m.db" --vary memory=on,off --seeds 8 --csv >"$TMP/with"
[ "$(cut -d, -f4- "$TMP/with" | sed -n 2p)" != "$(cut -d, -f4- "$TMP/with" | sed -n 3p)" ] || fail "no difference: $(cat "$TMP/with")"
cmp "$TMP/m.db" "$TMP/before.db" || fail "a suite wrote into the memory"
expect_match 2 'memory is on or off' "$HONE" suite s1.table --memory "$TMP/m.db" --vary memory=on,maybe
expect_match 2 'needs --memory FILE' "$HONE" suite s1.table --vary memory=on,off
expect_match 2 'memory /nowhere.db: no such file' "$HONE" suite s1.table --memory /nowhere.db
# A run with it is replayed from its record, without it.
expect_match 0 'memory    1 run on siblings' "$HONE" optimize s2.hone --target table:s2.table --memory "$TMP/m.db" --store "$TMP/runs.db" \
    --evals 8 --until 1
printf '%s\n' "$got" | sed -n '/ the default kernel$/q; / the champion of softmax /p' | grep -q . || fail "not judged before the default kernel: $got"
expect_match 0 'the same tree' env XDG_DATA_HOME="$TMP/none" "$HONE" replay --store "$TMP/runs.db"
# Nor does it matter to a replay in which order: of a record of before, the default kernel is judged first.
"$HONE" replay --store "$TMP/runs.db" -o "$TMP/recording" >/dev/null
grep -q 'start_first' "$TMP/recording" || fail "the record does not say what was judged first"
sed 's/, *\\"start_first\\": *true//; s/, *"start_first": *true//' "$TMP/recording" >"$TMP/before"
grep -q 'start_first' "$TMP/before" && fail "it is still there: $(grep start_first "$TMP/before" | cut -c1-300)"
expect_match 0 'the same tree' "$HONE" replay "$TMP/before"
# Where a run begins with another block the default kernel is judged at once, unless memory has a champion.
printf 'kernel for softmax on sm_90a\nstage y : rowwise threads 512 rows 2 vec 4 keep shared divide exact store cached\n' >"$TMP/other.hone"
other() {
    "$HONE" optimize s2.hone --target table:s2.table --start "$TMP/other.hone" --store "$TMP/runs.db" --evals 3 --until 1 "$@"
}
expect_match 0 '^ +[0-9]+\.1 .* the default kernel$' other
cp "$TMP/before.db" "$TMP/m2.db"
expect_match 0 '^ +[0-9]+\.1\* .* the champion of softmax M=4096' other --memory "$TMP/m2.db"
printf '%s\n' "$got" | grep -q 'the default kernel$' && fail "not by the times that memory has: $got"
# From other stages the default kernel is one step away, and not as many as there are merges.
cat >"$TMP/split.hone" <<'END'
kernel for layernorm on sm_90a
stage y.p1   : rowwise threads 256 rows 1 vec 4 keep register divide exact store cached
stage y.rstd : rowwise threads 256 rows 1 vec 4 keep reread divide exact store cached
stage y.norm : rowwise threads 128 rows 1 vec 4 keep register divide exact store cached
stage y      : map block 256 vec 4 items 1 store stream
END
split() {
    "$HONE" optimize l5.hone --target table:l5.table --start "$TMP/split.hone" --evals 2 --store "$TMP/runs.db" --policy "$1"
}
expect_match 0 '^     [0-9]+\.1\* ok .* 33.2 µs .* the default kernel$' split surrogate
expect_match 0 ' 33.2 µs .* the default kernel$' split surrogate:default=1
split surrogate:default=0 | grep -q 'the default kernel' && fail "it was to be left out"
cd "$ROOT/tests/tables"

expect_match 2 "unknown policy 'mtcs'" suite --vary policy=mtcs
expect_match 2 '[-]-vary takes' suite --vary seed=1,2
expect_match 2 '[-]-vary names no policy' suite --vary policy=
expect_match 2 'this is no table' "$HONE" suite "$ROOT/README.md"
expect_match 2 '[-]-start is any or default' suite --start here
expect_match 2 'one of --json, --csv' suite --csv --json
sed 's/^\(0 .*\) = .*/\1 = wrong/' cpu-softmax.table >"$TMP/wrong.table"
expect_match 2 'its first block is not ok but wrong' "$HONE" suite "$TMP/wrong.table"
