#!/bin/sh
# A product of a loop's body that waits for no state is a value before the loop, with a kernel of its own, on a CPU
# and on GPUs; a block may name it.
. "$(dirname "$0")/lib.sh"
cat >rnn.hone <<'P'
problem rnn
dim B = 3, T = 5, D = 32, H = 24
in    x : f32[B, T, D] ~ normal
param w : f32[H, D]    ~ normal(0, 0.05)
param u : f32[H, H]    ~ normal(0, 0.05)
out   y : f32[B, T, H]
for t in T with h : f32[B, H] = 0:
    g = x[:, t] @ w.T
    h = tanh(g + h @ u.T) * 0.5
    y[:, t] = h
P
"$HONE" check -v rnn.hone >values
expect 0 '1' grep -c '^g : f32\[B, T, H\] = matmul' values
expect 0 '1' grep -c '    t.* = matmul h, ' values
expect 1 '0' grep -c '    .*input x' values
for target in cpu sm_80 sm_90a sm_100a; do
    "$HONE" emit rnn.hone --target $target >text
    expect 0 '1' grep -c '^// stage g : gemm' text
    expect 0 '1' grep -c '^// stage y : nest' text
done
cat rnn.hone - >block.hone <<'P'

kernel for rnn on cpu
stage g : nest
stage y : nest
P
expect_match 0 'block.hone: ok' "$HONE" eval block.hone block.hone --verify --target cpu
