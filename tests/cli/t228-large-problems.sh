#!/bin/sh
# no-asan
# Large problems are judged like small ones: a network of 60 layers and 240 parameters, one that
# reads 512 inputs in one launch, values of eight axes.
. "$(dirname "$0")/lib.sh"

awk 'BEGIN {
    print "problem network\ndim B = 16, D = 32\nin x0 : f32[B, D] ~ normal"
    for (i = 1; i <= 60; i++)
        printf "param w%d : f32[D, D] ~ normal(0, 0.1)\nparam b%d : f32[D] ~ normal\n" \
               "param g%d : f32[D] ~ uniform(0.5, 1.5)\nparam o%d : f32[D] ~ normal\n", i, i, i, i
    print "out y : f32[B, D]"
    for (i = 1; i <= 60; i++)
        printf "h%d = relu(x%d @ w%d + b%d)\nx%d = layernorm(h%d + x%d, g%d, o%d)\n",
               i, i - 1, i, i, i, i, i - 1, i, i
    print "y = x60"
}' >network.hone
expect_match 0 '^default: ok' "$HONE" eval network.hone default --verify
expect_match 0 '^plain: ok' "$HONE" eval network.hone plain --verify

awk 'BEGIN {
    print "problem many"
    for (i = 1; i <= 512; i++)
        printf "in x%d : f32[40]\n", i
    printf "out y : f32[40]\nout z : f32[40]\ny = x1"
    for (i = 2; i <= 256; i++)
        printf " + x%d", i
    printf "\nz = y * x257"
    for (i = 258; i <= 512; i++)
        printf " + x%d", i
    print ""
}' >many.hone
expect_match 0 '^default: ok' "$HONE" eval many.hone default --verify
expect_match 0 '^plain: ok' "$HONE" eval many.hone plain --verify

cat >axes.hone <<'P'
problem axes
in x : f32[2, 3, 2, 3, 2, 3, 2, 5]
in w : f32[3, 1, 3, 1, 3, 1, 5]
out y : f32[2, 3, 2, 3, 2, 3, 2]
y = sum(x * w, axis=-1)
P
expect_match 0 '^default: ok' "$HONE" eval axes.hone default --verify
expect_match 0 '^plain: ok' "$HONE" eval axes.hone plain --verify
