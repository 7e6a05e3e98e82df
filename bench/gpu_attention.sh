#!/bin/sh
# bench/gpu_attention.sh HONE: attention in one kernel against PyTorch's fastest in the same
# process, by bridge/attention.py; appends to docs/results/h200-tensor.md. Needs nvcc and python3
# with PyTorch, and says so when they are absent. CASES names a file with other cases. Ends within a
# minute.
set -eu
hone=$1
root=$(cd "$(dirname "$0")/.." && pwd)
export RESULTS="${RESULTS:-$root/docs/results/h200-tensor.md}"
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"

if ! command -v nvcc >/dev/null || ! python3 -c 'import torch' 2>/dev/null; then
    row 'attention against PyTorch' 'needs nvcc and python3 with PyTorch' 'absent'
    exit 0
fi
cat >cases <<'END_CASES'
f16 8 16 1024 1024 64
f16 4 16 2048 2048 64 causal
f16 4 16 4096 4096 64
f16 4 16 4096 4096 128
bf16 4 16 4096 4096 128
bf16 4 16 4096 4096 128 causal
bf16 2 16 8192 8192 128
bf16 2 16 8192 8192 128 causal
bf16 1 16 16384 16384 128
bf16 1 16 16384 16384 128 causal
bf16 2 16 4096 4096 256
f16 2 12 1000 777 80
f16 4 16 4096 4096 128 wide
bf16 4 16 4096 4096 128 wide
END_CASES
cp "${CASES:-cases}" chosen
(cd "$root" && python3 bridge/attention.py "$hone" <"$work/chosen") >lines
while read -r line; do
    row "${line%%:*}" "\`bench/gpu_attention.sh hone\`" "${line#*: }"
done <lines
