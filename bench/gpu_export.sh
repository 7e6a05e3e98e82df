#!/bin/sh
# bench/gpu_export.sh HONE: exported kernels called from torch, by the exported Python file, against the time that hone
# states. Before each call the L2 is filled by reads, as the judge does it; then by writes, which have to go to memory
# while the kernel runs; then tensors begin one element off. Medians of 60 calls between two events. Appends to
# docs/results/h200-export.md, or prints that nvcc or PyTorch is absent. Ends within a minute.
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
# made NAME TYPE ROWS: a directory NAME with an exported kernel. nvcc builds it behind our back.
made() {
    printf 'problem %s\nin x : %s[%s, 4096] ~ normal\nout y : %s[%s, 4096]\ny = softmax(x)\n' "$1" "$2" "$3" "$2" "$3" >"$1.hone"
    "$hone" optimize "$1.hone" --target cuda --evals 1 --race 1 --seconds 8 --no-calibrate --no-energy --no-counters --store store >"$1.log" 2>&1 || cat "$1.log"
    "$hone" export --store store -o "$1" >/dev/null
    make -s -j4 -C "$1" >"$1.make" 2>&1 &
}
# called NAME TYPE TORCH'S ROWS: its row.
called() {
    row "softmax $2 $4 x 4096" "\`bench/gpu_export.sh hone\`" "$(python3 call.py "$1" "$4" 4096 "$3")"
}
made softmax_single f32 2048
made softmax_half f16 8192
wait
cat softmax_*.make
called softmax_single f32 float32 2048
called softmax_half f16 float16 8192
for name in softmax_single softmax_half; do
    row "its own check, and its Python test" "\`./check\`, \`test_$name.py\`" \
        "$("$name/check" 2>&1 | tail -n 1), $(cd "$name" && python3 "test_$name.py" 2>&1 | tail -n 1)"
done
