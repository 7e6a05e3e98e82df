#!/bin/sh
# bench/gpu_conv.sh HONE: convolutions on tensor cores against cuDNN in the same process, by
# bridge/conv.py, at sizes of KernelBench's first level; appends to docs/results/h200-tensor.md.
# Needs nvcc and python3 with PyTorch, and says so when they are absent. CASES names a file with
# other cases. Ends within six minutes.
set -eu
hone=$1
root=$(cd "$(dirname "$0")/.." && pwd)
export RESULTS="${RESULTS:-$root/docs/results/h200-tensor.md}"
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"

if ! command -v nvcc >/dev/null || ! python3 -c 'import torch' 2>/dev/null; then
    row 'convolutions against cuDNN' 'needs nvcc and python3 with PyTorch' 'absent'
    exit 0
fi
cat >shapes <<'END_SHAPES'
50-alexnet TYPE 256,3,224,224 96,3,11,11 stride=4 padding=2
54-cube TYPE 16,3,64,64,64 64,3,3,3,3
55-rectangle TYPE 8,64,512,1024 128,64,3,3
56-window-5x7 TYPE 8,64,512,256 128,64,5,7
57-transposed TYPE 8,64,1024,1024 64,64,3,3 transposed
61-transposed-cube TYPE 8,48,64,64,64 48,48,3,3,3 transposed
62-window-5x9 TYPE 8,32,512,512 64,32,5,9
63-square TYPE 16,16,1024,1024 128,16,3,3
64-transposed-line TYPE 64,128,65536 128,128,3 transposed
67-line TYPE 32,64,131072 128,64,3
72-transposed-grouped TYPE 8,32,12,24,48 32,8,3,5,7 stride=2 padding=1,2,3 output_padding=1 groups=4 transposed
74-transposed-dilated TYPE 32,32,131072 32,64,5 dilation=3 transposed
76-line-strided TYPE 64,64,524280 128,64,3 stride=3 dilation=4
80-dilated TYPE 8,32,512,512 64,32,5,9 padding=2,4 dilation=2,3
82-depthwise TYPE 16,64,512,512 64,1,3,3 groups=64
87-pointwise TYPE 16,64,1024,1024 128,64,1,1
END_SHAPES
for type in f32 tf32 f16; do
    sed "s/TYPE/$type/" shapes
done >cases
cp "${CASES:-cases}" chosen
(cd "$root" && python3 bridge/conv.py "$hone" <"$work/chosen") >lines
while read -r line; do
    row "${line%%:*}" "\`bench/gpu_conv.sh hone\`" "${line#*: }"
done <lines
