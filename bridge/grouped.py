"""Emitted products over groups of rows (mixture of experts) against Triton, in one process.

    python3 bridge/grouped.py HONE <cases

A case is a line `forward|gradient T E K N [KNOBS]`: T rows of K numbers in E groups, bf16, and matrices of K x N
(forward) or rows of N numbers whose products with those of x are added up for each group (gradient, f32 results).
Groups are as uneven as `offsets(T)` draws them. KNOBS are those of `ragged as mma` (or `as wgmma` and its own), none for hone's first kernel.
Triton's kernels are written here, tuned over eight configurations. 512 rows of results are compared with float64; then batches alternate, and medians are printed.
"""

import statistics
import sys

import torch
import triton
import triton.language as tl

from tensor import BATCHES, Kernel, record, time_ms

TILES = [
    triton.Config({"BM": m, "BN": n, "BK": k}, num_warps=w, num_stages=s)
    for m, n, k, w, s in [
        (128, 128, 64, 4, 4),
        (128, 128, 64, 8, 3),
        (128, 256, 64, 8, 3),
        (128, 256, 64, 8, 4),
        (256, 128, 64, 8, 3),
        (64, 256, 64, 4, 4),
        (128, 64, 64, 4, 4),
        (128, 128, 32, 8, 4),
    ]
]


@triton.autotune(TILES, key=["T", "E", "K", "N"])
@triton.jit
def forward_kernel(x, w, y, offsets, T, E: tl.constexpr, K: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    columns = tl.cdiv(N, BN)
    tile = tl.program_id(0) // columns
    column = tl.program_id(0) % columns
    before, group, first, end = 0, -1, 0, 0
    for e in range(E):
        begin = tl.load(offsets + e)
        last = tl.load(offsets + e + 1)
        count = tl.cdiv(last - begin, BM)
        own = (tile >= before) & (tile < before + count)
        group = tl.where(own, e, group)
        first = tl.where(own, begin + (tile - before) * BM, first)
        end = tl.where(own, last, end)
        before += count
    if group >= 0:
        rows = first + tl.arange(0, BM)
        cols = column * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        xs = x + rows[:, None] * K + k[None, :]
        ws = w + group.to(tl.int64) * K * N + k[:, None] * N + cols[None, :]
        inside = (rows < end)[:, None]
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for _ in range(0, K, BK):
            a = tl.load(xs, mask=inside, other=0.0)
            b = tl.load(ws)
            total = tl.dot(a, b, total)
            xs += BK
            ws += BK * N
        tl.store(y + rows[:, None].to(tl.int64) * N + cols[None, :], total.to(tl.bfloat16), mask=inside)


@triton.autotune(TILES, key=["T", "E", "K", "N"])
@triton.jit
def gradient_kernel(x, g, dw, offsets, T, E: tl.constexpr, K: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    columns = tl.cdiv(N, BN)
    down = tl.cdiv(K, BM)
    tile = tl.program_id(0) % (columns * down)
    group = tl.program_id(0) // (columns * down)
    begin = tl.load(offsets + group)
    end = tl.load(offsets + group + 1)
    ks = tile // columns * BM + tl.arange(0, BM)
    ns = tile % columns * BN + tl.arange(0, BN)
    t = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for row in range(begin, end, BK):
        inside = (row + t) < end
        a = tl.load(x + (row + t)[:, None].to(tl.int64) * K + ks[None, :], mask=inside[:, None], other=0.0)
        b = tl.load(g + (row + t)[:, None].to(tl.int64) * N + ns[None, :], mask=inside[:, None], other=0.0)
        total = tl.dot(tl.trans(a), b, total)
    tl.store(dw + group.to(tl.int64) * K * N + ks[:, None] * N + ns[None, :], total)


def problem_text(kind, t, e, k, n, knobs):
    text = f"problem groups\ndim T = {t}, E = {e}, K = {k}, N = {n}\nin x : bf16[T, K] ~ normal\n"
    text += "in o : i32[E + 1] ~ offsets(T)\n"
    if kind == "forward":
        text += "param w : bf16[E, K, N] ~ normal\nout y : bf16[T, N]\ny = ragged_matmul(x, w, o)\n"
    else:
        text += "in w : bf16[T, N] ~ normal\nout y : f32[E, K, N]\ny = ragged_outer(x, w, o)\n"
    if knobs:
        emitter = knobs if knobs.startswith("as ") else f"as mma  {knobs}"
        text += f"\nkernel for groups on sm_90a\nstage y : ragged {emitter}\n"
    return text


def draw_offsets(t, e):
    """Random lengths, as uneven as gamma(2)."""
    share = torch.distributions.Gamma(2.0, 1.0).sample((e,)).cumsum(0)
    ends = (share / share[-1] * t).round().int()
    return torch.cat([torch.zeros(1, dtype=torch.int32), ends]).cuda()


def error_of(kind, y, x, w, o):
    """Relative rms error of 512 rows of results against float64."""
    limits = o.tolist()
    wrong = size = 0.0
    for _ in range(8):
        e = int(torch.randint(len(limits) - 1, (1,)))
        begin, end = limits[e], limits[e + 1]
        if begin == end:
            continue
        if kind == "forward":
            rows = torch.randint(begin, end, (64,), device="cuda")
            truth, got = x[rows].double() @ w[e].double(), y[rows].double()
        else:
            rows = torch.randint(x.shape[1], (64,), device="cuda")
            truth, got = x[begin:end, rows].double().T @ w[begin:end].double(), y[e, rows].double()
        wrong += (got - truth).square().sum().item()
        size += truth.square().sum().item()
    return (wrong / size) ** 0.5


def compare(hone, line):
    kind, *rest = line.split(None, 5)
    t, e, k, n = (int(v) for v in rest[:4])
    kernel = Kernel(hone, problem_text(kind, t, e, k, n, rest[4] if len(rest) > 4 else ""), {"T": t, "E": e, "K": k, "N": n})
    x = torch.randn((t, k), device="cuda", dtype=torch.bfloat16)
    w = torch.randn((e, k, n) if kind == "forward" else (t, n), device="cuda", dtype=torch.bfloat16)
    result = ((t, n), torch.bfloat16) if kind == "forward" else ((e, k, n), torch.float32)
    mine, peer = (torch.full(result[0], float("nan"), device="cuda", dtype=result[1]) for _ in range(2))
    o = draw_offsets(t, e)
    ours = lambda: kernel.launch({"x": x, "w": w, "o": o, "y": mine})
    if kind == "forward":
        grid = lambda c: ((t // c["BM"] + e) * triton.cdiv(n, c["BN"]),)
        theirs = lambda: forward_kernel[grid](x, w, peer, o, t, e, k, n)
    else:
        grid = lambda c: (e * triton.cdiv(k, c["BM"]) * triton.cdiv(n, c["BN"]),)
        theirs = lambda: gradient_kernel[grid](x, w, peer, o, t, e, k, n)
    ours()
    theirs()
    errors = [error_of(kind, v, x, w, o) for v in (mine, peer)]
    repeats = max(1, int(1e12 / (2.0 * t * k * n + 1e9)))
    graphs = [record(call, repeats) for call in (ours, theirs)]
    times = ([], [])
    for _ in range(BATCHES):
        for which in (0, 1, 1, 0):
            times[which].append(time_ms(graphs[which], repeats))
    us, them = (statistics.median(v) for v in times)
    rate = 2e-9 * t * k * n
    best = (forward_kernel if kind == "forward" else gradient_kernel).best_config
    print(
        f"{kind} {t} rows, {e} groups, {k}x{n}: {us:.4f} ms {rate / us:.1f} TFLOP/s, Triton {them:.4f} ms {rate / them:.1f}, "
        f"{them / us:.3f}x its speed; rms error {errors[0]:.1e}, Triton {errors[1]:.1e}; {kernel.stage}; {best}",
        flush=True,
    )


def main():
    torch.zeros(1, device="cuda")
    torch.manual_seed(1)
    for line in sys.stdin:
        if line.strip():
            compare(sys.argv[1], line.strip())


main()
