#!/bin/sh
# The judge of the judge: on this card inputs are bit for bit those of the host, and the truth differs
# by no more than float64 rounds; every distribution, every set, every operation that a GPU takes.
. "$(dirname "$0")/lib.sh"
check=$(dirname "$HONE")/oracle-check
expect_match 0 ' ok ' "$check" "$ROOT/tests/gpu/truth.hone"
printf '%s\n' "$got"
cat >draws.hone <<'END'
problem draws
dim N = 100003
in a : f32[N] ~ normal
in b : f32[N] ~ normal(-3, 0.01)
in c : f32[N] ~ uniform(-1, 1)
in d : f32[N] ~ uniform(3, 7.5)
in e : f32[N] ~ integers(-5, 1000)
in f : f32[N] ~ sign
out y : f32[N]
y = a + b + c + d + e + f
END
expect_match 0 'inputs: 0 of 600018 differ' "$check" draws.hone
# At the sizes that people time.
for problem in softmax gelu gemm; do
    expect_match 0 ' ok ' "$check" "$ROOT/problems/$problem.hone"
    printf '%s\n' "$got"
done
