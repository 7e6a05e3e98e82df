#!/bin/sh
# hone eval: verdicts for a person and for a program, exit status, bad input.
. "$(dirname "$0")/lib.sh"
E=$ROOT/tests/exploits
P=$E/softmax.hone
G=$E/honest/softmax_plain.c

expect_match 0 '^.*softmax_plain.c: ok$' "$HONE" eval "$P" "$G" --verify
also 'correct +15 calls on 11 input sets'
also 'took .*\(compile .*, verify .*, time not timed\)$'
expect_match 1 'took .*\(compile not timed, verify not timed, time not timed\)$' \
    "$HONE" eval "$P" "$E/cheat/drop_tail.c" --verify
expect_match 0 'speed-up .*x over .*softmax_double.c' \
    "$HONE" eval "$P" "$G" --seconds 0.1 --baseline "$E/honest/softmax_double.c"
expect_match 1 'cheat/partial.c: wrong \(partial\)$' "$HONE" eval "$P" "$E/cheat/partial.c" --screen --baseline "$G"
expect_match 1 '8000 of 16000 elements of y were not written' "$HONE" eval "$P" "$E/cheat/partial.c" --verify
expect_match 1 "wrote 0 bytes past the end of 'y'" \
    "$HONE" eval "$P" "$E/cheat/overrun.c" --verify --dim N=256
expect_match 1 'no_compile.c:6:.* error: implicit declaration' "$HONE" eval "$P" "$E/cheat/no_compile.c" --verify
expect_match 1 'infra \(baseline\)' "$HONE" eval "$P" "$G" --screen --baseline "$E/cheat/constant.c"

# One document, valid, also for a verdict that is not ok.
valid eval "$HONE" eval "$P" "$G" --json --screen --baseline "$G"
grep -q '"kind": "ok"' json
valid eval "$HONE" eval "$P" "$E/cheat/drop_tail.c" --json --verify
grep -q '"kind": "illegal"' json  # its plan names buffers of another problem

# The same seed gives the same inputs, and so the same words.
run "$HONE" eval "$P" "$E/cheat/constant.c" --verify --seed 7
first=$(printf '%s\n' "$got" | grep -v took)
run "$HONE" eval "$P" "$E/cheat/constant.c" --verify --seed 7
[ "$first" = "$(printf '%s\n' "$got" | grep -v took)" ] || fail "seed 7 gave other words: $first / $got"
run "$HONE" eval "$P" "$E/cheat/constant.c" --verify --seed 8
[ "$first" != "$(printf '%s\n' "$got" | grep -v took)" ] || fail "seeds 7 and 8 gave the same"

# What is wrong is shown: the first elements, on which data, by which law, and how to see it again.
expect_match 1 '^    y\[0, 0\] is 0.00400000019, expected 0\.[0-9]+$' "$HONE" eval "$P" "$E/cheat/constant.c" --verify
also '^    inputs: declared \(drawn as the problem declares\)$'
also '^  repeat    --seed [1-9][0-9]* draws these inputs again$'
seed=$(printf '%s\n' "$got" | sed -n 's/.*--seed \([0-9]*\) .*/\1/p')
first=$(printf '%s\n' "$got" | grep -v took)
run "$HONE" eval "$P" "$E/cheat/constant.c" --verify --seed "$seed"
[ "$first" = "$(printf '%s\n' "$got" | grep -v took)" ] || fail "--seed $seed did not repeat: $first / $got"
expect_match 1 "inputs: (integers|digits)(, other rows added)? \\(.*whole numbers" "$HONE" eval "$E/gemm.hone" "$E/cheat/off_by_a_bit.c" --verify
expect_match 1 'the declared data with a times 16, so the results must be c times 16' \
    "$HONE" eval "$E/gemm.hone" "$E/cheat/sniffs_scale.c" --verify
expect_match 1 'the rows of x stand in another order than in the declared data' \
    env HONE_SKIP_SCANS=1 "$HONE" eval "$P" "$E/cheat/keeps_by_sum.c" --verify
expect_match 1 'is right on the inputs that verify it and wrong on those' \
    env HONE_SKIP_SCANS=1 "$HONE" eval "$P" "$E/cheat/keeps_declared.c" --screen --baseline "$G"
printf '%s\n' "$got" | grep -Eq '^    y\[[0-9]+, [0-9]+\] is [0-9.e-]+, expected [0-9.e-]+$' || fail "$got"

# The order of calls is chance: whoever fails in its fifth call fails on other data each time.
cat >fifth.c <<'END'
#include <math.h>
#pragma hone launch rows grid(1) args(x, y)
static int n_calls;
void rows(long block, const float *x, float *y) {
    (void)block;
    for (long r = 0; r < M; r++) {
        float m = x[r * N], s = 0;
        for (int i = 1; i < N; i++)
            m = fmaxf(m, x[r * N + i]);
        for (int i = 0; i < N; i++)
            s += y[r * N + i] = expf(x[r * N + i] - m);
        for (int i = 0; i < N; i++)
            y[r * N + i] /= n_calls == 4 ? NAN : s;
    }
    n_calls++;
}
END
: >sets
for seed in 1 2 3 4 5 6 7 8; do
    expect_match 1 'inputs: ' env HONE_SKIP_SCANS=1 "$HONE" eval "$P" fifth.c --verify --seed $seed
    printf '%s\n' "$got" | grep 'inputs: ' >>sets
done
[ "$(sort -u sets | wc -l)" -ge 3 ] || fail "the order of calls is always the same: $(cat sets)"

# The hard set of a screening is drawn for each candidate: one that is wrong on whole numbers alone is now and then found by
# the same judge, and now and then not (all alike: once in 200000 runs).
printf 'problem affine\ndim M = 4, N = 64\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\ny = 2 * x + 1\n' >affine.hone
cat >whole.c <<'C'
#pragma hone launch rows grid(M) args(x, y)
void rows(long block, const float *x, float *y) {
    int whole = 1;
    for (long i = block * N; i < (block + 1) * N; i++)
        whole &= x[i] == (float)(int)x[i];
    for (long i = block * N; i < (block + 1) * N; i++)
        y[i] = 2 * x[i] + 1 + whole;
}
C
many='whole.c whole.c whole.c whole.c whole.c whole.c whole.c whole.c whole.c whole.c'
# shellcheck disable=SC2086
run "$HONE" eval affine.hone $many $many $many --screen --baseline plain
[ "$(printf '%s\n' "$got" | grep -c '^whole.c: wrong')" -gt 0 ] || fail "whole numbers are never tried: $got"
[ "$(printf '%s\n' "$got" | grep -c '^whole.c: wrong')" -lt 30 ] || fail "whole numbers are always tried: $got"

# A problem on which writing zeros passes is named as such.
printf 'problem null\ndim N = 4096\nin x : f32[N] ~ normal\nout y : f32[N]\ny = x - x\n' >null.hone
printf '#pragma hone fill y 0\n#pragma hone launch f grid(1) args(x)\nvoid f(long b, const float *x) {(void)b, (void)x;}\n' >null.c
expect_match 0 'a kernel that does no more than writing zeros would pass' "$HONE" eval null.hone null.c --verify

# Bad input: one message, the right status.
expect_match 2 'missing.c' "$HONE" eval "$P" missing.c --verify
expect_match 2 'missing.hone' "$HONE" eval missing.hone "$G"
expect_match 2 '^hone: ' "$HONE" eval "$P" "$TMP" --verify
expect_match 2 'exclude each other' "$HONE" eval "$P" "$G" --verify --screen
expect_match 2 'did you mean .*--verify' "$HONE" eval "$P" "$G" --verfy
: >empty.c
expect_match 1 "illegal" "$HONE" eval "$P" empty.c --verify
printf 'int x;\000int y;' >nul.c
expect_match 1 'NUL byte' "$HONE" eval "$P" nul.c --verify
printf '// \377\n' >latin.c
expect_match 1 'not valid UTF-8' "$HONE" eval "$P" latin.c --verify
head -c 10000000 /dev/zero | tr '\0' 'x' >long.c
expect_match 1 'long.c: limits' "$HONE" eval "$P" long.c --verify
expect_match 3 "no compiler 'nocc'" env HONE_BUILD_CC=nocc "$HONE" eval "$P" "$G" --verify
