# shellcheck shell=sh
# Memory-bound problems for a CPU, read by bench/cpu_set.sh, which defines `problem NAME TYPE` (its text comes in, T
# stands for the type). About 64 MB of traffic each in f32, half of it in f16 and bf16.
for type in f32 bf16; do
    problem softmax $type <<'P'
dim M = 2048, N = 4096
in  x : T[M, N] ~ normal
out y : T[M, N]
y = softmax(x)
P
    problem cumsum_rows $type <<'P'
dim M = 2048, N = 4096
in  x : T[M, N] ~ normal
out y : T[M, N]
y = cumsum(x)
P
done
problem softmax_odd bf16 <<'P'
dim M = 64, N = 98305
in  x : T[M, N] ~ normal
out y : T[M, N]
y = softmax(x)
P
problem log_softmax f32 <<'P'
dim M = 2048, N = 4096
in  x : T[M, N] ~ normal
out y : T[M, N]
y = log_softmax(x)
P
problem layer_norm f16 <<'P'
dim M = 2048, N = 4096
in    x : T[M, N] ~ normal
param w : T[N] ~ normal
param b : T[N] ~ normal
out   y : T[M, N]
y = layernorm(x, w, b)
P
problem rms_norm f32 <<'P'
dim M = 2048, N = 4096
in    x : T[M, N] ~ normal
param w : T[N] ~ normal
out   y : T[M, N]
y = rmsnorm(x, w)
P
problem rms_norm_channels f32 <<'P'
dim B = 8, C = 64, H = 128
in  x : T[B, C, H, H] ~ normal
out y : T[B, C, H, H]
y = x / sqrt(mean(x * x, axis=1, keepdims=true) + 1e-5)
P
problem batch_norm f32 <<'P'
dim B = 8, C = 64, H = 128
in    x : T[B, C, H, H] ~ normal
param w : T[C] ~ normal
param b : T[C] ~ normal
out   y : T[B, C, H, H]
y = batchnorm(x, w, b)
P
problem instance_norm f32 <<'P'
dim B = 8, C = 64, H = 128
in  x : T[B, C, H, H] ~ normal
out y : T[B, C, H, H]
y = instancenorm(x)
P
problem mse_loss f32 <<'P'
dim M = 2048, N = 4096
in  x : T[M, N] ~ normal
in  t : T[M, N] ~ normal
out y : T
y = mse_loss(x, t)
P
problem kl_loss f32 <<'P'
dim M = 2048, N = 4096
in  x : T[M, N] ~ normal
in  t : T[M, N] ~ uniform(0.1, 1)
out y : T
y = kl_div_loss(x, t)
P
problem cross_entropy f32 <<'P'
dim M = 4096, N = 4096
in  x : T[M, N] ~ normal
in  t : i64[M] ~ index(N)
out y : T
y = cross_entropy(x, t)
P
problem triplet_loss f32 <<'P'
dim M = 2048, N = 2048
in  a : T[M, N] ~ normal
in  p : T[M, N] ~ normal
in  n : T[M, N] ~ normal
out y : T
y = triplet_margin_loss(a, p, n)
P
problem transpose f32 <<'P'
dim M = 2048, N = 4096
in  x : T[M, N] ~ normal
out y : T[N, M]
y = x.T
P
problem transpose bf16 <<'P'
dim M = 4096, N = 4096
in  x : T[M, N] ~ normal
out y : T[N, M]
y = x.T
P
problem permute f32 <<'P'
dim B = 8, C = 64, H = 128
in  x : T[B, C, H, H] ~ normal
out y : T[B, H, H, C]
y = transpose(x, (0, 2, 3, 1))
P
problem column_sum f32 <<'P'
dim M = 4096, N = 4096
in  x : T[M, N] ~ normal
out y : T[N]
y = sum(x, axis=0)
P
problem middle_sum f16 <<'P'
dim B = 32, M = 256, N = 2047
in  x : T[B, M, N] ~ normal
out y : T[B, N]
y = sum(x, axis=1)
P
problem cumsum_columns f32 <<'P'
dim M = 2048, N = 4096
in  x : T[M, N] ~ normal
out y : T[M, N]
y = cumsum(x, axis=0)
P
problem cumsum_odd bf16 <<'P'
dim M = 37, N = 65535
in  x : T[M, N] ~ normal
out y : T[M, N]
y = cumsum(x)
P
problem embedding f32 <<'P'
dim V = 32768, D = 512, N = 16384
param w : T[V, D] ~ normal
in    i : i64[N] ~ index(V)
out   y : T[N, D]
y = embedding(w, i)
P
problem argmax f32 <<'P'
dim M = 4096, N = 4096
in  x : T[M, N] ~ normal
out y : i64[M]
y = argmax(x, axis=1)
P
problem max_pool f32 <<'P'
dim B = 8, C = 64, H = 128
in  x : T[B, C, H, H] ~ normal
out y : T[B, C, H / 2, H / 2]
y = max_pool2d(x, 2)
P
problem gelu bf16 <<'P'
dim M = 4096, N = 4096
in  x : T[M, N] ~ normal
out y : T[M, N]
y = gelu(x)
P
