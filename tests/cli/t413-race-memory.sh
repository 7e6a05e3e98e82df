#!/bin/sh
# A race with memory, on tables, so that no time decides: what comes from memory races with all others, the record says
# what was taken and which stages were changed, the lesson what that brought, and a replay without memory gives the same
# tree.
. "$(dirname "$0")/lib.sh"
unset HONE_MEMORY_PATH
export HONE_BUILD_CC=/no/such/cc
m=$TMP/m.db

# across NAME M N TIMES: a problem whose rows lie across, and its table. (The times are made up.)
across() {
    printf 'problem p\ndim M = %d, N = %d\nin  x : f32[N, M] ~ normal\nout y : f32[M, N]\ny = softmax(x.T)\n' "$2" "$3" >"$1.hone"
    {
        sed -n "1p; 2s/problem softmax.ndim M = 128, N = 1024.nin  x : f32.M, N. \(.*\)softmax(x)/problem p\\\\ndim M = $2, N = $3\\\\nin  x : f32[N, M] \1softmax(x.T)/p" \
            "$ROOT/tests/tables/cpu-softmax.table"
        cat <<'END'
shape kernel for p on cpu|stage y : rowwise vec ? rows ? unroll ? keep reread ahead ? overlap none divide exact store cached
shape kernel for p on cpu|stage y : rowwise vec ? rows ? unroll ? keep reread ahead ? overlap none divide reciprocal store cached
shape kernel for p on cpu|stage v.1 : map as tiles vec ? tile ? ahead ? turn registers store cached|stage y : rowwise vec ? rows ? unroll ? keep reread ahead ? overlap none divide exact store cached
shape kernel for p on cpu|stage v.1 : map as tiles vec ? tile ? ahead ? turn registers store cached|stage y : rowwise vec ? rows ? unroll ? keep reread ahead ? overlap none divide reciprocal store cached
END
        # shellcheck disable=SC2086  # seven times
        printf '0 8 8 1 0 = %s 1 1\n0 8 4 1 0 = %s 1 1\n0 8 8 2 0 = %s 1 1\n1 8 8 1 0 = %s 0.99 1.01\n2 8 64x64 0 8 8 1 0 = %s 0.99 1.01\n3 8 64x64 0 8 8 1 0 = %s 0.99 1.01\nplain = %s 0.99 1.01\nend 6\n' $4
    } >"$1.table"
}
across first 256 384 '200 300 310 190 120 100 400'
across second 512 384 '400 600 620 390 240 250 800'

raced() { "$HONE" optimize "$1.hone" --target "table:$1.table" --race 4 --evals 4 --until 1 --memory "$m" --store s; }

expect_match 0 '^stored    run 1 in s' raced first
also '^ +4 raced against 1\.0, on to the judge: 1\.[0-9] \(about 1\.67x\), 1\.[0-9] \(about$'
also '^stopped .* 2 more screened'
"$HONE" show 1 --store s | grep -q ' lay out v.1 for y' || fail "no stage was changed: $("$HONE" show 1 --store s)"
expect_match 0 'lay out' "$HONE" memory moves p --memory "$m"
expect_match 0 '^ +1 +[0-9]+ +100 µs +75% +2\.00x  p M=256 N=384$' "$HONE" memory --memory "$m"

# Of a problem twice as large: the sibling's champion is second here, and it costs no verdict before the race.
expect_match 0 '^memory    1 run on siblings; begins with the champion of p M=256 N=384' raced second
also '^ +4 raced against 2\.0, on to the judge: '
valid show "$HONE" show 2 --json --store s
sed -n '/"starts"/,/]/p' json | grep -q 'kernel for p' || fail 'the record does not say what was taken'
sed -n '/"by": "memory"/,/"screening"/p' json | grep -q '"screening": {' || fail "it did not race: $(cat json)"
for run in 1 2; do
    expect_match 0 '^the same tree, champion node' env HONE_MEMORY_PATH=none.db "$HONE" replay $run --store s
    expect_match 0 '^the same tree, champion node' env HONE_MEMORY_PATH=none.db "$HONE" replay $run --store s --re-evaluate
done

# Without memory nothing is asked and nothing learned.
before=$(cksum <"$m")
expect_match 0 '^stored    run 3 in s' "$HONE" optimize second.hone --target table:second.table --race 4 --evals 4 --until 1 --memory off --store s
printf '%s\n' "$got" | grep -q '^memory ' && fail "asked all the same: $got"
[ "$(cksum <"$m")" = "$before" ] || fail 'the memory was written, though off'
# Unless somebody asks for a race there is none on a table.
expect_match 0 '^stored    run 4 in s' "$HONE" optimize second.hone --target table:second.table --evals 3 --until 1 --store s
printf '%s\n' "$got" | grep -q ' raced ' && fail "raced all the same: $got"

# Comparisons of policies race too, by the seeds alone, and say how many were screened.
compared() { "$HONE" suite second.table --race 4 --memory "$m" --vary memory=on,off --seeds 4 --start default --csv "$@"; }
compared >csv
compared --jobs 1 | cmp - csv || fail 'threads matter'
head -n 1 csv | grep -q ',evals_median,screened,missed,' || fail "$(cat csv)"
[ "$(cut -d, -f8 csv | tail -n 1)" != 0 ] || fail "nothing was screened: $(cat csv)"
valid suite "$HONE" suite second.table --race 4 --seeds 2 --json
expect 2 'hone: suite: a --race has at most 256 candidates' "$HONE" suite second.table --race 257
