#!/bin/sh
# emit prints C: by the default lowering, by a kernel block, or plain
. "$(dirname "$0")/lib.sh"

cat > p.hone <<'P'
problem scale
dim M = 64, N = 32
in  x : f32[M, N] ~ normal
out y : f32[M, N]
y = exp(x) * 2
P
cat > k.hone <<'K'
kernel for scale on cpu
stage y : map  vec 4  store stream
K

expect_match 0 '^// scale, by hone ' "$HONE" emit p.hone
also '^// stage y : map  vec [0-9]+  unroll 1  grain 16384  store cached$'
also '^#pragma hone launch y_map grid\(.*\) args\(x, y\)$'
also 'hone_exp[0-9]+\('
expect_match 0 'hone_stream4\(' "$HONE" emit p.hone --kernel k.hone
expect_match 0 'expf\(' "$HONE" emit p.hone --plain
expect_match 0 '^#define N 8$' "$HONE" emit p.hone --dim N=8

# A block in the file itself is the one that is lowered.
cat p.hone k.hone > both.hone
expect_match 0 'hone_stream4\(' "$HONE" emit both.hone

# What is printed compiles, with both compilers, and no header but ours.
"$HONE" emit both.hone > both.c
"$HONE" emit p.hone --plain > plain.c
for cc in gcc clang; do
    command -v $cc > /dev/null || continue
    for source in both.c plain.c; do
        $cc -std=gnu17 -O3 -march=native -fno-math-errno -fno-trapping-math -fPIC -shared -Wall \
            -Werror -Wno-unknown-pragmas -I"$ROOT/runtime" -o out.so $source || fail "$cc: $source"
    done
done
[ "$(grep -c '^#include' both.c)" = 1 ] || fail "more than one header"
