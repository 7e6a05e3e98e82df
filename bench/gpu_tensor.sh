#!/bin/sh
# bench/gpu_tensor.sh HONE: matrix products on tensor cores against cuBLAS in the same process, by
# bridge/tensor.py; appends to docs/results/h200-tensor.md. Needs nvcc and python3 with PyTorch, and
# says so when they are absent. CASES names a file with other cases. Ends within six minutes.
set -eu
hone=$1
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"

if ! command -v nvcc >/dev/null || ! python3 -c 'import torch' 2>/dev/null; then
    row 'products against cuBLAS' 'needs nvcc and python3 with PyTorch' 'absent'
    exit 0
fi
cat >cases <<'END_CASES'
bf16 nt 4096 4096 4096
bf16 nt 8192 8192 8192
bf16 nt 4096 4096 16384
bf16 nt 8192 8192 512
bf16 nt 64 8192 8192
bf16 nt 16 8192 8192
bf16 nt 1 8192 8192
f16 nt 4096 4096 4096
f16 nt 8192 8192 8192
f16 nt 4096 4096 16384
f16 nt 8192 8192 512
bf16 nn 4096 4096 4096
bf16 tn 4096 4096 4096
bf16 tt 4096 4096 4096
bf16 nt 2048 2048 2048
bf16 nt 512 512 16384
bf16 nt 1024 1024 8192
bf16 nt 1000 1048 520
f16-f32 nt 4096 4096 4096
f16 nn 777 1034 2051
tf32 nn 2048 2048 2048
tf32 nn 4096 4096 4096
tf32 nt 4096 4096 4096
tf32 nn 8192 8192 8192
f32 nn 2048 2048 2048
f32 nt 2048 2048 2048
f32 nn 4096 4096 4096
f32 nt 4096 4096 4096
f32 tn 4096 4096 4096
f32 nn 8192 8192 8192
f32 nt 8192 8192 512
f32 nn 512 512 8192
f32 nn 777 1035 2051
i8 nt 4096 4096 2048
i8 nt 4096 4096 4096
i8 nt 8192 8192 8192
END_CASES
cp "${CASES:-cases}" chosen
(cd "$root" && python3 bridge/tensor.py "$hone" <"$work/chosen") >lines
while read -r line; do
    row "${line%%:*}" "\`echo ${line%%:*} | tr x ' ' | python3 bridge/tensor.py hone\`" "${line#*: }"
done <lines
