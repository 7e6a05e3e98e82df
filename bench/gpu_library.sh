#!/bin/sh
# bench/gpu_library.sh HONE: the default kernel against `library` (cuBLASLt's best algorithm of those
# it proposes, cuDNN's best), both judged by hone in one run: verified in full, timed in pairs on
# fresh inputs from cold caches. Appends to docs/results/h200-tensor.md. CASES names a file with other cases:
# TYPE M N K, or conv TYPE NAME and the problem's lines, joined by ';'. Two to three minutes.
set -eu
hone=$1
root=$(cd "$(dirname "$0")/.." && pwd)
export RESULTS="${RESULTS:-$root/docs/results/h200-tensor.md}"
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"

cat >cases <<'END_CASES'
bf16 4096 4096 4096
bf16 8192 8192 8192
bf16 4096 4096 16384
bf16 8192 8192 512
bf16 64 8192 8192
bf16 16 8192 8192
bf16 1 8192 8192
f16 4096 4096 4096
f16 8192 8192 8192
f16 4096 4096 16384
f16 8192 8192 512
f16 64 8192 8192
f16 16 8192 8192
f16 1 8192 8192
f32 4096 4096 4096
tf32 4096 4096 4096
conv f16 window-5x7 in x : f16[8, 64, 512, 256] ~ normal;in w : f16[128, 64, 5, 7] ~ normal;out y : f16[8, 128, 508, 250];y = conv2d(x, w)
conv tf32 alexnet precision tf32;in x : f32[256, 3, 224, 224] ~ normal;in w : f32[96, 3, 11, 11] ~ normal(0, 0.05);out y : f32[256, 96, 55, 55];y = conv2d(x, w, stride=4, padding=2)
conv f32 cube in x : f32[16, 3, 64, 64, 64] ~ normal;in w : f32[64, 3, 3, 3, 3] ~ normal(0, 0.1);out y : f32[16, 64, 62, 62, 62];y = conv3d(x, w)
END_CASES

product() { # TYPE M N K
    stored=$1
    [ "$1" != tf32 ] || stored=f32
    echo "problem product"
    [ "$1" != tf32 ] || echo "precision tf32"
    printf 'dim M = %s, N = %s, K = %s\n' "$2" "$3" "$4"
    printf 'in  x : %s[M, K] ~ normal\nin  w : %s[N, K] ~ normal\nout y : %s[M, N]\ny = x @ w.T\n' \
        "$stored" "$stored" "$stored"
}

while read -r type a b c; do
    if [ "$type" = conv ]; then
        name="$a $b"
        { echo "problem convolution" && printf '%s\n' "$c" | tr ';' '\n'; } >case.hone
    else
        name="$type ${a}x${b}x${c}"
        product "$type" "$a" "$b" "$c" >case.hone
    fi
    "$hone" eval case.hone default library --target cuda --seconds "${SECONDS_EACH:-1}" >out 2>&1 || true
    time=$(sed -n 's/^  time  *//p' out | head -n 1)
    ratio=$(sed -n 's/^  speed-up  *//p' out | head -n 1)
    row "$name" "\`hone eval case.hone default library\`" "${time:+default $time, }${ratio:-$(head -n 3 out | tr '\n' ' ')}"
done <"${CASES:-cases}"
