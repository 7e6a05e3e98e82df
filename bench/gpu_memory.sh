#!/bin/sh
# bench/gpu_memory.sh HONE [NAME...]: memory-bound problems of KernelBench's level 1 at their own shapes, in f32 and
# where it makes sense in bf16 and f16. For each the champion of `hone optimize --seconds 15` ($SECONDS_EACH), its
# share of reach, and its time against PyTorch, eager and torch.compile (bridge/memory.py). With NAMEs only those,
# as softmax or softmax.bf16. Appends to docs/results/h200-memory.md. $PEERS: "eager compiled", fewer, or none.
set -eu
hone=$1
shift
only=" $* "
root=$(cd "$(dirname "$0")/.." && pwd)
BENCH_SECONDS=${BENCH_SECONDS:-3600}
[ -z "${BENCH_IS_LIMITED:-}" ] || only=$BENCH_ONLY
export BENCH_SECONDS BENCH_ONLY="$only"
set -- "$hone"
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"
budget=${SECONDS_EACH:-15} peers=${PEERS-eager compiled}

# problem NAME TYPES: its text comes in, T stands for the type.
: >names
problem() {
    cat >text
    for type in $2; do
        case $only in "  " | *" $1 "* | *" $1.$type "*) ;; *) continue ;; esac
        { echo "problem $1" && sed "s/\\bT\\[/${type}[/" text; } >"$1.$type.hone"
        echo "$1 $type" >>names
    done
}

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

# "1.23x eager, 1.01x compiled", by milliseconds of theirs over ours.
ratios() {
    [ -n "$peers" ] && python3 -c 'import torch' 2>/dev/null || return 0
    # shellcheck disable=SC2086
    python3 "$root/bridge/memory.py" "$1" "$2" $peers 2>peers.err |
        awk -v ours="$3" '{ printf ", %.2fx %s", $2 / ours, $1 }'
}

while read -r name type; do
    status=0
    timeout -s INT -k 5 $((budget + 45)) "$hone" optimize "$name.$type.hone" --target cuda --seconds "$budget" \
        --store store >log 2>&1 </dev/null || status=$?
    champion=$(sed -n 's/^champion  [0-9]*\.[0-9]*: \([0-9.]* [^ ,]*\).*/\1/p' log)
    reach=$(sed -n '/^champion  /,$s/.*[ ;]\([0-9]*%\) of reach.*/\1/p' log | head -n 1)
    ms=$(echo "$champion" | awk '{ print $2 == "ms" ? $1 : $2 == "s" ? $1 * 1000 : $1 / 1000 }')
    row "$name $type" "\`hone optimize --target cuda --seconds $budget\`" \
        "${champion:-none (status $status)}, ${reach:--} of reach$(ratios "$name" "$type" "$ms")"
done <names
