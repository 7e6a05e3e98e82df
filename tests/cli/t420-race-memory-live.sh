#!/bin/sh
# long
# no-asan
# What t413 has on tables, live: a race with memory and with moves that change stages. Which of them come through goes by
# measured times.
. "$(dirname "$0")/lib.sh"
unset HONE_MEMORY_PATH
across() { # M N
    printf 'problem p\ndim M = %d, N = %d\nin  x : f32[N, M] ~ normal\nout y : f32[M, N]\ny = softmax(x.T)\n' "$1" "$2"
}
across 48 64 >first.hone
across 64 96 >second.hone
raced() { "$HONE" optimize "$1" --no-calibrate --seconds 300 --race 6 --evals 3 --store s; }

expect_match 0 '^stored    run 1 in s' raced first.hone
"$HONE" show 1 --store s | grep -Eq ' (lay out v.1 for y|split|merge)' || fail "no stage was changed: $("$HONE" show 1 --store s)"
expect_match 0 'lay out' "$HONE" memory moves p
expect_match 0 '^memory    1 run on siblings; begins with the champion of p M=48 N=64' raced second.hone
valid show "$HONE" show 2 --json --store s
sed -n '/"starts"/,/]/p' json | grep -q 'kernel for p' || fail 'the record does not say what was taken'
grep -q '"by": "memory"' json || fail 'nothing of memory was tried'
# What comes from memory races with all others, and costs no verdict of its own.
sed -n '/"by": "memory"/,/"screening"/p' json | grep -q '"screening": {' || fail "it did not race: $(cat json)"
for run in 1 2; do
    expect_match 0 '^the same tree, champion node' env HONE_BUILD_CC=/no/such/cc HONE_MEMORY_PATH=none.db "$HONE" replay $run --store s
done
