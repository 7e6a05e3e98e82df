#!/bin/sh
# sol explains the bound; without ceilings it has a limit and says what is missing
. "$(dirname "$0")/lib.sh"

cat > p.hone <<'P'
problem scale
dim M = 1024, N = 1024
in  x : f32[M, N] ~ normal
out y : f32[M, N]
y = x * 2
P

expect_match 0 '^scale on cpu' "$HONE" sol p.hone
expect_match 0 '^least work: 4.19 MB read, 4.19 MB written, 1.05 MFLOP' "$HONE" sol p.hone
expect_match 0 'reach: not known until the ceilings are measured' "$HONE" sol p.hone
expect_match 0 '^limit .*nothing honest is faster' "$HONE" sol p.hone
expect_match 0 '^least work: 16.4 kB read' "$HONE" sol p.hone --dim M=64,N=64
valid sol "$HONE" sol p.hone --json
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
