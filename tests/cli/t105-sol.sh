#!/bin/sh
# sol explains the bound: speed of light, reach and limit; what is not known is said to be missing
. "$(dirname "$0")/lib.sh"

cat > p.hone <<'P'
problem scale
dim M = 1024, N = 1024
in  x : f32[M, N] ~ normal
out y : f32[M, N]
y = x * 2
P

expect_match 0 '^scale on cpu' "$HONE" sol p.hone
also '^least work: 4.19 MB read, 4.19 MB written, 1.05 MFLOP'
also 'reach: not known until the ceilings are measured'
also '^limit .*nothing honest is faster'
expect_match 0 '^least work: 16.4 kB read' "$HONE" sol p.hone --dim M=64,N=64
valid sol "$HONE" sol p.hone --json

# The figure that people know, from parts that are printed; and why the limit is below it.
cat > big.hone <<'P'
problem big
dim N = 8192
in  a : bf16[N, N] ~ normal
in  b : bf16[N, N] ~ normal
out c : bf16[N, N]
c = a @ b
P
expect_match 0 '^speed of light 1.11 ms: compute-bound' "$HONE" sol big.hone --target h200
also '^  1.1 TFLOP of f16/bf16 products at 990 TFLOP/s: 1.11 ms'
also '^  403 MB at 4.8 TB/s: 83.9 µs'
also '^  since fast products'
valid sol "$HONE" sol big.hone --target h200 --json
valid devices "$HONE" devices --json

expect 2 "hone: unknown target 'cpq'; did you mean 'cpu'?" "$HONE" sol p.hone --target cpq
expect_match 2 'missing.hone' "$HONE" sol missing.hone
expect_match 2 'FILE' "$HONE" sol
printf 'problem' > bad.hone
expect_match 1 'bad.hone:1:8' "$HONE" sol bad.hone

# With a driver that sees no GPU, and with one that is there, scripted.
fake=$(dirname "$HONE")/fake
if [ -d "$fake" ]; then
    CUDA_HOME=$fake FAKE_CUDA=none expect_match 3 'target cuda: the driver sees no GPU' \
        "$HONE" sol p.hone --target cuda
    CUDA_HOME=$fake expect_match 0 '^scale on cuda:0 \(Fake 9000\)' "$HONE" sol p.hone --target cuda
    CUDA_HOME=$fake expect_match 3 'there is no GPU number 3' "$HONE" sol p.hone --target cuda:3
    CUDA_HOME=$fake expect_match 0 'cuda:0 Fake 9000' "$HONE" devices
    CUDA_HOME=$fake valid devices "$HONE" devices --json
fi
