#!/bin/sh
# A compiler for GPUs that is killed is nobody's fault: the source is compiled again. Whoever breaks
# two of them has done it himself. One that never ends does not hold up a race.
. "$(dirname "$0")/lib.sh"
mkdir -p cuda/lib64
ln -s "$(dirname "$HONE")"/fake/lib64/* cuda/lib64/
export CUDA_HOME="$TMP/cuda"
: >cuda/fault
real=$(HONE_LOG=debug HONE_TARGET='' "$HONE" doctor 2>&1 | sed -n 's/.*dlopen \(\/.*libnvrtc\.so[.0-9]*\): ok.*/\1/p' | head -n 1)
[ -n "$real" ] || skip "no NVRTC"
cc -shared -fPIC -D_GNU_SOURCE -Wl,--no-as-needed -Wl,-soname,dying.so -Wl,-rpath,"$(dirname "$real")" \
    -o "cuda/lib64/$(basename "$real")" "$ROOT/tests/tools/dying_nvrtc.c" "$real" -ldl
ln -s "$(dirname "$real")"/libnvrtc-builtins.so* cuda/lib64/
cat >affine.hone <<'END'
problem affine
dim N = 1000
in x : f32[N] ~ normal
out y : f32[N]
y = x * 2 + 1
END
judge() { # DEATHS: a new source each time, since compiled ones are kept
    printf '0' >cuda/deaths
    printf '#pragma hone launch right grid(4) block(256) args(x, y)\n' >right.cu
    printf 'extern "C" __global__ void right(const float *x, float *y) { *y = *x + %s; }\n' "$1" >>right.cu
    printf '%s' "$1" >cuda/deaths
    "$HONE" eval affine.hone right.cu --target cuda --verify
}

# The judge's own kernels, once, so that none of the deaths is theirs.
expect_match 0 '^right.cu: ok$' judge 0
expect_match 0 '^right.cu: ok$' judge 1
[ "$(cat cuda/deaths)" = 0 ] || fail "the compiler was not killed"
expect_match 1 '^right.cu: no-compile$' judge 2
also 'the compiler broke down on this source, or ran out of memory'
[ "$(cat cuda/deaths)" = 0 ] || fail "the compiler was not killed twice"
expect_match 0 '^right.cu: ok$' judge 0

# Whatever is still compiled when a race is over is given up: this one would be waited for ten minutes.
printf 'h' >cuda/deaths
expect_match 0 '^champion  1\.' "$HONE" optimize affine.hone --target cuda --seconds 4 --evals 2 --race 4 --no-calibrate --no-energy
[ "$(cat cuda/deaths)" = 0 ] || fail "no compile hung"
