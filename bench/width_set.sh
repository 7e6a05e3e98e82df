# shellcheck shell=sh
# Read by width_table.sh and width_verdicts.sh: problems at sizes that people have (shapes of
# KernelBench, level 1), a file NAME.hone each in the current directory, and their list in `rows`:
# "NAME SMALL-SIZES". ONLY='softmax|group_norm' are those alone.

: >rows
# problem NAME SMALL-SIZES: its text comes in; SMALL-SIZES are for --dim.
problem() {
    { echo "problem $1" && cat; } >"$1.hone"
    [ -z "${ONLY:-}" ] || printf '%s\n' "$1" | grep -qxE "$ONLY" || return 0
    echo "$1 $2" >>rows
}

problem softmax M=64,N=6144 <<'P'
dim M = 4096, N = 393216
in  x : f32[M, N] ~ uniform(0, 1)
out y : f32[M, N]
y = softmax(x)
P
problem layer_norm C=8,H=64 <<'P'
dim B = 16, C = 64, H = 256
in    x : f32[B, C, H, H] ~ uniform(0, 1)
param w : f32[C, H, H] ~ uniform(0, 1)
param b : f32[C, H, H] ~ uniform(0, 1)
out   y : f32[B, C, H, H]
y = layernorm(x, w, b, axis=(1, 2, 3))
P
problem matrix_vector M=32,K=16384 <<'P'
dim M = 2048, K = 1048576
in  a : f32[M, K] ~ uniform(0, 1)
in  b : f32[K, 1] ~ uniform(0, 1)
out c : f32[M, 1]
c = a @ b
P
problem mean_squared_error N=512 <<'P'
dim N = 32768
in  x : f32[N, N] ~ uniform(0, 1)
in  t : f32[N, N] ~ uniform(0, 1)
out y : f32
y = mse_loss(x, t)
P
problem frobenius_norm B=2,H=64 <<'P'
dim B = 112, C = 64, H = 512
in  x : f32[B, C, H, H] ~ uniform(0, 1)
out y : f32[B, C, H, H]
norm = sqrt(sum(x * x))
y = x / norm
P
problem batch_norm B=2,C=16,H=64 <<'P'
dim B = 64, C = 64, H = 512
in    x : f32[B, C, H, H] ~ uniform(0, 1)
param w : f32[C] ~ uniform(0, 1)
param b : f32[C] ~ uniform(0, 1)
out   y : f32[B, C, H, H]
y = batchnorm(x, w, b)
P
problem group_norm B=2,C=16,H=64 <<'P'
dim B = 112, C = 64, H = 512
in    x : f32[B, C, H, H] ~ uniform(0, 1)
param w : f32[C] ~ uniform(0, 1)
param b : f32[C] ~ uniform(0, 1)
out   y : f32[B, C, H, H]
y = groupnorm(x, w, b, groups=8)
P
problem kl_divergence N=512 <<'P'
dim N = 16384
in  p : f32[N, N] = softmax(u) where u ~ uniform(0, 1)
in  t : f32[N, N] = softmax(u) where u ~ uniform(0, 1)
out y : f32
y = sum(t * (log(t) - log(p))) / N
P
