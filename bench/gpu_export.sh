#!/bin/sh
# bench/gpu_export.sh HONE: exported kernels called from torch, by the exported Python file, against the time that hone
# states. Before each call the L2 is filled by reads, as the judge does it; then by writes, which have to go to memory
# while the kernel runs; then tensors begin one element off. Medians of 60 calls between two events. Appends to
# docs/results/h200-export.md, or prints that nvcc or PyTorch is absent. Ends within two minutes.
set -eu
export HONE_MEMORY_PATH=off
hone=$1
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"

if ! command -v nvcc >/dev/null || ! python3 -c 'import torch' 2>/dev/null; then
    row 'exported kernels from torch' 'needs nvcc and python3 with PyTorch' 'absent'
    exit 0
fi
cat >call.py <<'P'
import importlib, json, statistics, sys, time
import torch
name, shape, dtype = sys.argv[1], (int(sys.argv[2]), int(sys.argv[3])), getattr(torch, sys.argv[4])
sys.path.insert(0, name)
function = getattr(importlib.import_module(name), name)
stated = json.load(open(name + "/PROOF.json"))["measurement"]["median_s"] * 1e6
x = torch.randn(shape, device="cuda", dtype=dtype)
off = [torch.empty(x.numel() + 8, device="cuda", dtype=dtype)[1:1 + x.numel()].view(shape) for _ in range(2)]
off[0].copy_(x)
y = torch.empty_like(x)
written, read = torch.zeros(40 << 20, device="cuda"), torch.zeros(40 << 20, device="cuda")

def median(before, *tensors):
    times = []
    for i in range(65):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        before()
        start.record()
        function(*tensors)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times[5:])

parts = [median(read.sum, x, y), median(written.zero_, x, y), median(read.sum, *off)]
torch.cuda.synchronize()
begin = time.perf_counter()
for i in range(300):
    function(x, y)
host = (time.perf_counter() - begin) / 300 * 1e6
print("stated %.2f µs; from torch %s; host %.1f µs a call" % (stated, ", ".join(
    "%s %.2f µs (%.3f)" % (w, p, p / stated) for w, p in zip(("read before", "written before", "one element off"), parts)), host))
P
# case NAME TYPE TORCH'S ROWS
one() {
    printf 'problem %s\nin x : %s[%s, 4096] ~ normal\nout y : %s[%s, 4096]\ny = softmax(x)\n' "$1" "$2" "$4" "$2" "$4" >"$1.hone"
    "$hone" optimize "$1.hone" --target cuda --evals 2 --seconds 8 --store store >/dev/null
    "$hone" export --store store -o "$1" >/dev/null
    make -s -C "$1" >/dev/null
    row "softmax $2 $4 x 4096" "\`bench/gpu_export.sh hone\`" "$(python3 call.py "$1" "$4" 4096 "$3")"
}
one softmax_single f32 float32 2048
one softmax_half f16 float16 8192
