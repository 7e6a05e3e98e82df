#!/bin/sh
# The example in the contract of CUDA source, which models are given, is right on the card.
. "$(dirname "$0")/lib.sh"
cat >rows.hone <<'END'
problem rows
dim M = 37, N = 203
in x : f32[M, N] ~ uniform(1, 2)
out y : f32[M, N]
y = x / sum(x, axis=1, keepdims=true)
END
# shellcheck disable=SC2016  # fences, not substitutions
sed -n '/^```cuda$/,/^```$/p' "$ROOT/prompts/source_cuda.txt" | grep -v '^```' >example.cu
expect_match 0 '^example.cu: ok$' "$HONE" eval rows.hone example.cu --target cuda --verify

# Several launches: each has its time, and none of them costs the verdict.
cat >two.cu <<'END'
#pragma hone scratch total f32[M] = 0
#pragma hone launch sums grid(M) block(32) args(x, total)
#pragma hone launch scale grid(M) block(256) args(x, total, y)
extern "C" __global__ void sums(const float *__restrict__ x, float *__restrict__ total) {
    float sum = 0.0f;
    for (int j = threadIdx.x; j < N; j += 32)
        sum += x[(long)blockIdx.x * N + j];
    for (int mask = 16; mask > 0; mask /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    if (threadIdx.x == 0)
        total[blockIdx.x] = sum;
}
extern "C" __global__ void scale(const float *__restrict__ x, const float *__restrict__ total,
                                 float *__restrict__ y) {
    for (int j = threadIdx.x; j < N; j += 256)
        y[(long)blockIdx.x * N + j] = x[(long)blockIdx.x * N + j] / total[blockIdx.x];
}
END
expect_match 0 '^  launches  sums [0-9.]+ .?.?s \([0-9]+%\), scale [0-9.]+ .?.?s \([0-9]+%\)$' \
    "$HONE" eval rows.hone two.cu --target cuda --screen
valid eval "$HONE" eval rows.hone two.cu --target cuda --screen --json
[ "$(grep -c '"occupancy"' json)" = 3 ] || fail "not of each launch: $(cat json)"
