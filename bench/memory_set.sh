# shellcheck shell=sh
# Memory-bound problems of KernelBench's level 1 at their own shapes, read by bench/gpu_memory.sh, which
# defines `problem NAME TYPES` (its text comes in, T stands for the type); bridge/memory.py has the same ones in PyTorch.

# by_element NAME TYPES EXPRESSION [DRAWS]: of x, 4096 rows of 393216. What leaves numbers between 0 and 1 as they are
# gets others, or a copy would pass.
by_element() {
    problem "$1" "$2" <<P
dim M = 4096, N = 393216
in  x : T[M, N] ~ ${4:-uniform(0, 1)}
out y : T[M, N]
y = $3
P
}
by_element relu 'f32 bf16' 'relu(x)' normal
by_element leaky_relu f32 'leaky_relu(x)' normal
by_element sigmoid f32 'sigmoid(x)'
by_element tanh 'f32 bf16' 'tanh(x)'
by_element swish f32 'x * sigmoid(x)'
by_element gelu 'f32 bf16' 'gelu(x)'
by_element selu f32 'selu(x)'
by_element hardsigmoid f32 'hardsigmoid(x)'
by_element softplus f32 'softplus(x)'
by_element softsign f32 'x / (1 + abs(x))'
by_element elu f32 'elu(x)'
by_element hardtanh f32 'hardtanh(x)' normal
problem new_gelu f32 <<'P'
dim N = 8192
in  x : T[N, N] ~ uniform(0, 1)
out y : T[N, N]
y = gelu_tanh(x)
P
problem scalar f32 <<'P'
dim M = 65536, N = 16384
in  x : T[M, N] ~ uniform(0, 1)
out y : T[M, N]
y = x * 3.14
P
problem diagonal f32 <<'P'
dim N = 4096
in  d : T[N] ~ uniform(0, 1)
in  x : T[N, N] ~ uniform(0, 1)
out y : T[N, N]
y = d[:, None] * x
P
problem transpose 'f32 bf16' <<'P'
dim N = 16384
in  x : T[N, N] ~ uniform(0, 1)
out y : T[N, N]
y = x.T
P
problem permute f32 <<'P'
dim B = 64, C = 64, H = 256
in  x : T[B, C, H, H] ~ uniform(0, 1)
out y : T[B, H, H, C]
y = transpose(x, (0, 2, 3, 1))
P

problem softmax 'f32 bf16 f16' <<'P'
dim M = 4096, N = 393216
in  x : T[M, N] ~ uniform(0, 1)
out y : T[M, N]
y = softmax(x)
P
problem log_softmax f32 <<'P'
dim M = 4096, N = 393216
in  x : T[M, N] ~ uniform(0, 1)
out y : T[M, N]
y = log_softmax(x)
P
problem softmax_131072 f32 <<'P'
dim M = 64, N = 131072
in  x : T[M, N] ~ uniform(0, 1)
out y : T[M, N]
y = softmax(x)
P
problem l1_norm 'f32 bf16' <<'P'
dim M = 32768, N = 65535
in  x : T[M, N] ~ uniform(0, 1)
out y : T[M, N]
y = x / mean(abs(x), axis=1, keepdims=true)
P
problem l2_norm f32 <<'P'
dim M = 32768, N = 65535
in  x : T[M, N] ~ uniform(0, 1)
out y : T[M, N]
y = x / sqrt(sum(x * x, axis=1, keepdims=true))
P
problem layer_norm 'f32 bf16' <<'P'
dim B = 16, C = 64, H = 256
in    x : T[B, C, H, H] ~ uniform(0, 1)
param w : T[C, H, H] ~ uniform(0, 1)
param b : T[C, H, H] ~ uniform(0, 1)
out   y : T[B, C, H, H]
y = layernorm(x, w, b, axis=(1, 2, 3))
P
problem batch_norm f32 <<'P'
dim B = 64, C = 64, H = 512
in    x : T[B, C, H, H] ~ uniform(0, 1)
param w : T[C] ~ uniform(0, 1)
param b : T[C] ~ uniform(0, 1)
out   y : T[B, C, H, H]
y = batchnorm(x, w, b)
P
problem group_norm f32 <<'P'
dim B = 112, C = 64, H = 512
in    x : T[B, C, H, H] ~ uniform(0, 1)
param w : T[C] ~ uniform(0, 1)
param b : T[C] ~ uniform(0, 1)
out   y : T[B, C, H, H]
y = groupnorm(x, w, b, groups=8)
P
problem instance_norm 'f32 bf16' <<'P'
dim B = 112, C = 64, H = 512
in  x : T[B, C, H, H] ~ uniform(0, 1)
out y : T[B, C, H, H]
d = x - mean(x, axis=(2, 3), keepdims=true)
y = d * rsqrt(mean(d * d, axis=(2, 3), keepdims=true) + 1e-5)
P
problem rms_norm 'f32 bf16 f16' <<'P'
dim B = 112, C = 64, H = 512
in  x : T[B, C, H, H] ~ uniform(0, 1)
out y : T[B, C, H, H]
y = x / sqrt(mean(x * x, axis=1, keepdims=true) + 1e-5)
P
problem frobenius_norm f32 <<'P'
dim B = 112, C = 64, H = 512
in  x : T[B, C, H, H] ~ uniform(0, 1)
out y : T[B, C, H, H]
norm = sqrt(sum(x * x))
y = x / norm
P
problem sum_middle f32 <<'P'
dim B = 128, D = 4096, N = 4095
in  x : T[B, D, N] ~ uniform(0, 1)
out y : T[B, N]
y = sum(x, axis=1)
P
problem max_middle f32 <<'P'
dim B = 128, D = 4096, N = 4095
in  x : T[B, D, N] ~ uniform(0, 1)
out y : T[B, N]
y = max(x, axis=1)
P
problem mse_loss f32 <<'P'
dim N = 32768
in  x : T[N, N] ~ uniform(0, 1)
in  t : T[N, N] ~ uniform(0, 1)
out y : f32
y = mse_loss(x, t)
P
problem triplet_loss f32 <<'P'
dim B = 32768, D = 8192
in  a : T[B, D] ~ uniform(0, 1)
in  p : T[B, D] ~ uniform(0, 1)
in  n : T[B, D] ~ uniform(0, 1)
out y : f32
dp = sqrt(sum((a - p + 1e-6) * (a - p + 1e-6), axis=1))
dn = sqrt(sum((a - n + 1e-6) * (a - n + 1e-6), axis=1))
y = mean(relu(dp - dn + 1))
P

# Poolings.
problem max_pool1d f32 <<'P'
dim B = 64, C = 192, L = 65536
in  x : T[B, C, L] ~ uniform(0, 1)
out y : T[B, C, L - 13]
y = max_pool1d(x, 8, stride=1, padding=4, dilation=3)
P
problem max_pool2d 'f32 bf16' <<'P'
dim B = 32, C = 64, H = 512
in  x : T[B, C, H, H] ~ uniform(0, 1)
out y : T[B, C, H - 1, H - 1]
y = max_pool2d(x, 4, stride=1, padding=1)
P
problem max_pool3d f32 <<'P'
dim B = 16, C = 32, H = 128
in  x : T[B, C, H, H, H] ~ uniform(0, 1)
out y : T[B, C, 62, 62, 62]
y = max_pool3d(x, 3, stride=2, padding=1, dilation=3)
P
problem avg_pool1d f32 <<'P'
dim B = 64, C = 128, L = 65536
in  x : T[B, C, L] ~ uniform(0, 1)
out y : T[B, C, L + 1]
y = avg_pool1d(x, 8, stride=1, padding=4)
P
problem avg_pool2d f32 <<'P'
dim B = 16, C = 64, H = 2048
in  x : T[B, C, H, H] ~ uniform(0, 1)
out y : T[B, C, 186, 186]
y = avg_pool2d(x, 11)
P
problem avg_pool3d f32 <<'P'
dim B = 16, C = 32, H = 128
in  x : T[B, C, H, H, 2 * H] ~ uniform(0, 1)
out y : T[B, C, H / 2, H / 2, H]
y = avg_pool3d(x, 3, stride=2, padding=1)
P

# Where the best is.
problem argmax 'f32 bf16' <<'P'
dim B = 128, D = 4096, N = 4095
in  x : T[B, D, N] ~ uniform(0, 1)
out y : i64[B, N]
y = argmax(x, axis=1)
P
problem argmin f32 <<'P'
dim B = 128, D = 4096, N = 4095
in  x : T[B, D, N] ~ uniform(0, 1)
out y : i64[B, N]
y = argmin(x, axis=1)
P
problem argmax_rows f32 <<'P'
dim M = 65536, N = 16384
in  x : T[M, N] ~ uniform(0, 1)
out y : i64[M]
y = argmax(x, axis=1)
P
problem topk f32 <<'P'
dim M = 8192, N = 4096
in  x : T[M, N] ~ uniform(0, 1)
out y : T[M, 8]
y = topk(x, 8)
P

# Running sums and products.
# scan NAME TYPES EXPRESSION
scan() {
    problem "$1" "$2" <<P
dim N = 32768
in  x : T[N, N] ~ uniform(0, 1)
out y : T[N, N]
y = $3
P
}
scan cumsum 'f32 bf16' 'cumsum(x, axis=1)'
scan cumsum_reverse f32 'cumsum(x, axis=1, reverse=true)'
scan cumsum_exclusive f32 'cumsum(x, axis=1, exclusive=true)'
scan cumsum_columns f32 'cumsum(x, axis=0)'
problem cumprod f32 <<'P'
dim N = 32768
in  x : T[N, N] ~ uniform(0.5, 1.5)
out y : T[N, N]
y = cumprod(x, axis=1)
P
problem masked_cumsum f32 <<'P'
dim N = 32768
in  x : T[N, N] ~ uniform(0, 1)
in  m : bool[N, N]
out y : T[N, N]
y = cumsum(where(m, x, 0), axis=1)
P

# Losses.
problem huber_loss f32 <<'P'
dim N = 32768
in  x : T[N, N] ~ uniform(0, 1)
in  t : T[N, N] ~ uniform(0, 1)
out y : f32
y = smooth_l1_loss(x, t)
P
problem hinge_loss f32 <<'P'
dim N = 32768
in  x : T[N, N] ~ uniform(0, 1)
in  t : T[N] ~ sign
out y : f32
y = mean(relu(1 - x * t))
P
problem kl_div f32 <<'P'
dim N = 16384
in  x : T[N, N] ~ uniform(0.1, 1)
in  t : T[N, N] ~ uniform(0.1, 1)
out y : f32
y = sum(t * (log(t) - log(x))) / N
P
problem cross_entropy f32 <<'P'
dim M = 32768, C = 4096
in  x : T[M, C] ~ uniform(0, 1)
in  t : i64[M] ~ index(C)
out y : f32
y = cross_entropy(x, t)
P

# Looking up and scattering.
problem embedding 'f32 bf16' <<'P'
dim M = 262144, V = 128256, D = 1024
param w : T[V, D] ~ uniform(0, 1)
in    i : i64[M] ~ index(V)
out   y : T[M, D]
y = embedding(w, i)
P
problem index_add f32 <<'P'
dim M = 262144, V = 65536, D = 512
in  b : T[V, D] ~ uniform(0, 1)
in  i : i64[M] ~ index(V)
in  x : T[M, D] ~ uniform(0, 1)
out y : T[V, D]
y = index_add(b, i, x)
P
