"""Memory-bound problems of bench/gpu_memory.sh in PyTorch: eager and compiled.

    python3 bridge/memory.py NAME.TYPE,...|- [eager|compiled]...

One line for each problem and way: both names and milliseconds, the median of seven calls between events, each after
another buffer has filled the L2 cache. `compiled` is torch.compile(mode="max-autotune-no-cudagraphs").
With - the names are read from the standard input, after what takes long to begin has begun.
"""

import statistics
import sys

import torch
import torch.nn.functional as F


def uniform(*shape):
    return torch.rand(*shape, device="cuda").to(TYPE)


def triplet(a, p, n):
    return F.triplet_margin_loss(a, p, n, margin=1.0)


def exclusive_cumsum(x):
    return torch.cat((torch.zeros_like(x[:, :1]), torch.cumsum(x[:, :-1], 1)), 1)


def rows():
    return [uniform(4096, 393216)]


def square():
    return [uniform(32768, 32768)]


def pair(n):
    return [uniform(n, n) + 0.1, uniform(n, n) + 0.1]


def middle():
    return [uniform(128, 4096, 4095)]


def indices(count, below):
    return torch.randint(0, below, (count,), device="cuda")


PROBLEMS = {
    "relu": (rows, torch.relu),
    "leaky_relu": (rows, F.leaky_relu),
    "sigmoid": (rows, torch.sigmoid),
    "tanh": (rows, torch.tanh),
    "swish": (rows, lambda x: x * torch.sigmoid(x)),
    "gelu": (rows, F.gelu),
    "selu": (rows, F.selu),
    "hardsigmoid": (rows, F.hardsigmoid),
    "softplus": (rows, F.softplus),
    "softsign": (rows, lambda x: x / (1 + x.abs())),
    "elu": (rows, F.elu),
    "hardtanh": (rows, F.hardtanh),
    "new_gelu": (lambda: [uniform(8192, 8192)], lambda x: F.gelu(x, approximate="tanh")),
    "scalar": (lambda: [uniform(65536, 16384)], lambda x: x * 3.14),
    "diagonal": (lambda: [uniform(4096), uniform(4096, 4096)], lambda d, x: d[:, None] * x),
    "transpose": (lambda: [uniform(16384, 16384)], lambda x: x.T.contiguous()),
    "permute": (
        lambda: [uniform(64, 64, 256, 256)],
        lambda x: x.permute(0, 2, 3, 1).contiguous(),
    ),
    "max_pool1d": (
        lambda: [uniform(64, 192, 65536)],
        lambda x: F.max_pool1d(x, 8, 1, 4, 3),
    ),
    "max_pool2d": (lambda: [uniform(32, 64, 512, 512)], lambda x: F.max_pool2d(x, 4, 1, 1)),
    "max_pool3d": (
        lambda: [uniform(16, 32, 128, 128, 128)],
        lambda x: F.max_pool3d(x, 3, 2, 1, 3),
    ),
    "avg_pool1d": (lambda: [uniform(64, 128, 65536)], lambda x: F.avg_pool1d(x, 8, 1, 4)),
    "avg_pool2d": (lambda: [uniform(16, 64, 2048, 2048)], lambda x: F.avg_pool2d(x, 11)),
    "avg_pool3d": (
        lambda: [uniform(16, 32, 128, 128, 256)],
        lambda x: F.avg_pool3d(x, 3, 2, 1),
    ),
    "argmax": (middle, lambda x: x.argmax(1)),
    "argmin": (middle, lambda x: x.argmin(1)),
    "argmax_rows": (lambda: [uniform(65536, 16384)], lambda x: x.argmax(1)),
    "topk": (lambda: [uniform(8192, 4096)], lambda x: x.topk(8, 1)[0]),
    "cumsum": (square, lambda x: x.cumsum(1)),
    "cumsum_reverse": (square, lambda x: x.flip(1).cumsum(1).flip(1)),
    "cumsum_exclusive": (square, exclusive_cumsum),
    "cumsum_columns": (square, lambda x: x.cumsum(0)),
    "cumprod": (square, lambda x: x.cumprod(1)),
    "masked_cumsum": (
        lambda: [uniform(32768, 32768), uniform(32768, 32768) < 0.5],
        lambda x, m: (x * m).cumsum(1),
    ),
    "huber_loss": (lambda: pair(32768), F.smooth_l1_loss),
    "hinge_loss": (
        lambda: [uniform(32768, 32768), torch.sign(uniform(32768) - 0.5)],
        lambda x, t: torch.clamp(1 - x * t, min=0).mean(),
    ),
    "kl_div": (
        lambda: pair(16384),
        lambda x, t: F.kl_div(torch.log(x), t, reduction="batchmean"),
    ),
    "cross_entropy": (lambda: [uniform(32768, 4096), indices(32768, 4096)], F.cross_entropy),
    "embedding": (
        lambda: [uniform(128256, 1024), indices(262144, 128256)],
        lambda w, i: F.embedding(i, w),
    ),
    "index_add": (
        lambda: [uniform(65536, 512), indices(262144, 65536), uniform(262144, 512)],
        lambda b, i, x: b.index_add(0, i, x),
    ),
    "softmax": (rows, lambda x: torch.softmax(x, 1)),
    "log_softmax": (rows, lambda x: torch.log_softmax(x, 1)),
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
    "sum_middle": (middle, lambda x: x.sum(1)),
    "max_middle": (middle, lambda x: x.amax(1)),
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


def measure(name, ways):
    make, function = PROBLEMS[name.split(".")[0]]
    inputs = make()
    for way in ways:
        call = function
        if way == "compiled":
            torch._dynamo.reset()
            call = torch.compile(function, mode="max-autotune-no-cudagraphs")
        print(name, way, f"{time_ms(lambda: call(*inputs)):.4f}", flush=True)


def names_later(ways):
    x = torch.ones(64, 64, device="cuda")
    if "compiled" in ways:
        torch.compile(lambda x: (x * 2).sum(1), mode="max-autotune-no-cudagraphs")(x)
    torch.cuda.synchronize()
    return sys.stdin.read().strip()


def main():
    global TYPE
    ways = sys.argv[2:] or ["eager", "compiled"]
    with torch.no_grad():
        names = names_later(ways) if sys.argv[1] == "-" else sys.argv[1]
        for name in filter(None, names.split(",")):
            TYPE = TYPES[name.split(".")[1]]
            try:
                measure(name, ways)
            except (RuntimeError, AssertionError) as e:  # one that fails does not cost the others
                print(name, e, file=sys.stderr)
            torch.cuda.empty_cache()


TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
TYPE = None
main()
