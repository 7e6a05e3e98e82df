"""Memory-bound problems of bench/gpu_memory.sh in PyTorch: eager and compiled.

    python3 bridge/memory.py NAME TYPE [eager|compiled]...

One line for each way: its name and milliseconds, the median of seven calls between events, each after
another buffer has filled the L2 cache. `compiled` is torch.compile(mode="max-autotune-no-cudagraphs").
"""

import statistics
import sys

import torch
import torch.nn.functional as F


def uniform(*shape):
    return torch.rand(*shape, device="cuda").to(TYPE)


def triplet(a, p, n):
    return F.triplet_margin_loss(a, p, n, margin=1.0)


PROBLEMS = {
    "softmax": (lambda: [uniform(4096, 393216)], lambda x: torch.softmax(x, 1)),
    "log_softmax": (lambda: [uniform(4096, 393216)], lambda x: torch.log_softmax(x, 1)),
    "softmax_131072": (lambda: [uniform(64, 131072)], lambda x: torch.softmax(x, 1)),
    "l1_norm": (lambda: [uniform(32768, 65535)], lambda x: x / x.abs().mean(1, keepdim=True)),
    "l2_norm": (lambda: [uniform(32768, 65535)], lambda x: x / x.norm(dim=1, keepdim=True)),
    "layer_norm": (
        lambda: [uniform(16, 64, 256, 256), uniform(64, 256, 256), uniform(64, 256, 256)],
        lambda x, w, b: F.layer_norm(x, w.shape, w, b),
    ),
    "batch_norm": (
        lambda: [uniform(64, 64, 512, 512), uniform(64), uniform(64)],
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
    ),
    "group_norm": (
        lambda: [uniform(112, 64, 512, 512), uniform(64), uniform(64)],
        lambda x, w, b: F.group_norm(x, 8, w, b),
    ),
    "instance_norm": (lambda: [uniform(112, 64, 512, 512)], lambda x: F.instance_norm(x)),
    "rms_norm": (
        lambda: [uniform(112, 64, 512, 512)],
        lambda x: x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-5),
    ),
    "frobenius_norm": (lambda: [uniform(112, 64, 512, 512)], lambda x: x / torch.norm(x)),
    "sum_middle": (lambda: [uniform(128, 4096, 4095)], lambda x: x.sum(1)),
    "max_middle": (lambda: [uniform(128, 4096, 4095)], lambda x: x.amax(1)),
    "mse_loss": (lambda: [uniform(32768, 32768), uniform(32768, 32768)], F.mse_loss),
    "triplet_loss": (lambda: [uniform(32768, 8192) for _ in range(3)], triplet),
}


def time_ms(call):
    cold = torch.empty(64 << 20, dtype=torch.int32, device="cuda").zero_()
    call()
    times = []
    for _ in range(7):
        cold.max()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def main():
    make, function = PROBLEMS[sys.argv[1]]
    inputs = make()
    with torch.no_grad():
        for way in sys.argv[3:] or ["eager", "compiled"]:
            call = function
            if way == "compiled":
                call = torch.compile(function, mode="max-autotune-no-cudagraphs")
            print(way, f"{time_ms(lambda: call(*inputs)):.4f}", flush=True)


TYPE = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[sys.argv[2]]
main()
