#!/usr/bin/env python3
"""Convolutions and products on a CPU: PyTorch's time of a problem that hone has as text.

cpu_products.py list           names, one on each line
cpu_products.py problem NAME   the problem in hone's language
cpu_products.py time NAME N    median milliseconds of a call on N threads

For bench/cpu_products.sh. Inputs go round, so that none of them is in the caches again when its turn
comes, as hone has it; PyTorch gets its result's memory from its own allocator."""
import sys
import time

# A name; kind; sizes of the image and of the weights; the call's other arguments.
CASES = {
    "conv 3x3, 56x56": ("conv", (4, 128, 56, 56), (128, 128, 3, 3), dict(padding=1)),
    "conv 3x3, 14x14": ("conv", (16, 256, 14, 14), (256, 256, 3, 3), dict(padding=1)),
    "conv 7x7 stride 2, image": ("conv", (8, 3, 224, 224), (64, 3, 7, 7), dict(stride=2, padding=3)),
    "conv 11x11 stride 4, image": ("conv", (16, 3, 224, 224), (96, 3, 11, 11), dict(stride=4, padding=2)),
    "conv 5x5 dilated": ("conv", (8, 32, 64, 64), (64, 32, 5, 5), dict(padding=4, dilation=2)),
    "conv 1x1": ("conv", (8, 64, 112, 112), (128, 64, 1, 1), {}),
    "conv 3x3 depthwise": ("conv", (8, 64, 112, 112), (64, 1, 3, 3), dict(padding=1, groups=64)),
    "conv 1-D, 9 taps": ("conv", (8, 64, 16384), (128, 64, 9), dict(padding=4)),
    "conv 3-D, 3x3x3": ("conv", (2, 16, 16, 64, 64), (32, 16, 3, 3, 3), dict(padding=1)),
    "transposed 2-D, stride 2": ("transposed", (8, 64, 56, 56), (64, 32, 4, 4), dict(stride=2, padding=1)),
    "transposed 3-D, stride 2": ("transposed", (4, 32, 16, 32, 32), (32, 16, 3, 3, 3), dict(stride=2, padding=1, output_padding=1)),
    "product 1024": ("product", (1024, 1024), (1024, 1024), {}),
    "product 2048 x 512 x 2048": ("product", (2048, 512), (512, 2048), {}),
    "product, small batch": ("product", (32, 4096), (4096, 4096), {}),
}


def result_shape(kind, x, w, more):
    """Sizes of the result, as PyTorch computes them."""
    if kind == "product":
        return (x[0], w[1])
    pad, step, dilation = more.get("padding", 0), more.get("stride", 1), more.get("dilation", 1)
    if kind == "conv":
        places = [(n + 2 * pad - dilation * (k - 1) - 1) // step + 1 for n, k in zip(x[2:], w[2:])]
        return (x[0], w[0], *places)
    extra = more.get("output_padding", 0)
    places = [(n - 1) * step - 2 * pad + k + extra for n, k in zip(x[2:], w[2:])]
    return (x[0], w[1], *places)


def problem(name):
    """The text of a case in hone's language."""
    kind, x, w, more = CASES[name]
    y = result_shape(kind, x, w, more)
    rank = len(x) - 2
    call = {"product": "x @ w", "conv": f"conv{rank}d(x, w", "transposed": f"conv_transpose{rank}d(x, w"}[kind]
    if kind != "product":
        call += "".join(f", {key}={value}" for key, value in more.items()) + ")"
    deviation = 0.03 if kind != "product" else 1
    print(f"problem p\nin x : f32[{', '.join(map(str, x))}] ~ normal")
    print(f"param w : f32[{', '.join(map(str, w))}] ~ normal(0, {deviation})")
    print(f"out y : f32[{', '.join(map(str, y))}]\ny = {call}")


def measure(name, threads):
    """Median time of a call in milliseconds."""
    import torch
    import torch.nn.functional as functional

    torch.set_num_threads(threads)
    kind, x, w, more = CASES[name]
    images = [torch.randn(x) for _ in range(5)]
    weights = torch.randn(w)
    if kind == "product":
        call = torch.matmul
    else:
        base = "conv_transpose" if kind == "transposed" else "conv"
        call = getattr(functional, f"{base}{len(x) - 2}d")
    times = []
    with torch.no_grad():
        for i in range(20):
            start = time.perf_counter()
            call(images[i % 5], weights, **more)
            times.append(time.perf_counter() - start)
    print(f"{sorted(times[5:])[7] * 1e3:.4g}")


if sys.argv[1:] == ["list"]:
    print("\n".join(CASES))
elif len(sys.argv) == 3 and sys.argv[1] == "problem":
    problem(sys.argv[2])
elif len(sys.argv) == 4 and sys.argv[1] == "time":
    measure(sys.argv[2], int(sys.argv[3]))
else:
    sys.exit(__doc__)
