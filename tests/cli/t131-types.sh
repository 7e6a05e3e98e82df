#!/bin/sh
# Types and operations that no kernel can be made of yet: checked, bounded, refused by name.
. "$(dirname "$0")/lib.sh"

cat >half.hone <<'END'
problem half
dim M = 64, N = 64
in  x : f16[M, N]
in  w : i4[N, N]
out y : f16[M, N]
y = gelu(x @ w)
END
expect_match 0 'ok: problem half, 2 inputs, 1 output' "$HONE" check half.hone
expect_match 0 '^least work: 10.2 kB read, 8.19 kB written' "$HONE" sol --target cpu half.hone
expect_match 0 'const unsigned short .restrict x, const unsigned char .restrict w' "$HONE" emit half.hone
expect_match 0 '^plain: ok$' "$HONE" eval half.hone plain --verify

cat >sine.hone <<'END'
problem sine
in  x : f32[64]
out y : f32[64]
y = sin(x)
END
expect_match 0 'hone_sin' "$HONE" emit sine.hone

# What the C library has no quick function for: the baseline of rows of 16 bits.
cat >rows.hone <<'END'
problem rows
in  x : bf16[17, 33] ~ normal
in  t : i64[17] ~ index(33)
out y : bf16[17, 33]
out z : f16[17]
out l : bf16
out g : bf16[17, 33]
y = softmax(x)
g = gelu(x)
z = logsumexp(x, axis=1)
l = cross_entropy(x, t)
END
expect_match 0 '^plain: ok$' "$HONE" eval rows.hone default plain --verify
also '^default: ok$'

cat >made.hone <<'END'
problem made
in  p : f32[4, 8] = softmax(u) where u ~ normal
out y : f32[4, 8]
y = log(p)
END
expect_match 0 '^plain: ok$' "$HONE" eval made.hone plain --verify

# Ranks and sizes beyond what there is.
ones=$(printf '1, %.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
printf 'problem p\nin x : f32[%s1]\nout y : f32\ny = sum(x)\n' "$ones" >rank33.hone
expect_match 1 'rank33.hone:2:36: no value has more than 8 axes' "$HONE" check rank33.hone
printf 'problem p\ndim A = 2000000000\nin x : f32[A, A, A, A, A, A]\nout y : f32\ny = sum(x)\n' >huge.hone
expect_match 1 'huge.hone:3:15: a value has at most 2\^40 elements' "$HONE" check huge.hone
printf 'problem p\ndim A = 2000000000, B = A * A * A\nin x : f32[A]\nout y : f32\ny = sum(x)\n' >over.hone
expect_match 1 'over.hone:2:31: this size does not fit in 63 bits' "$HONE" check over.hone
