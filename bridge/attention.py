"""Emitted attention against PyTorch's scaled_dot_product_attention, each pair in one process.

    python3 bridge/attention.py HONE <cases

A case is a line `TYPE BATCH HEADS QUERIES KEYS WIDTH [causal] [wide] [/ STAGE]`: TYPE is f16 or bf16, STAGE is
what stands after `stage o :` in a kernel block, none for the kernel that hone would begin with. Problems say
`precision TYPE accumulate f32`, so that probabilities are rounded to 16 bits, as PyTorch does it; without that
(wide) they are f32. 64 rows of each are compared with float64; then batches alternate with the fastest of
PyTorch's backends (tried before) and medians are printed. Operations count as 4 BATCH HEADS QUERIES KEYS WIDTH, half of that with a causal mask.
"""

import concurrent.futures
import subprocess
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from conv import TYPES, Kernel, alternate, time_ms

BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]


class Case:
    def __init__(self, line):
        words, _, self.stage = line.partition("/")
        self.name = " ".join(words.split())
        self.kind, *sizes = words.split()
        self.causal, self.wide = "causal" in sizes, "wide" in sizes
        self.batch, self.heads, self.m, self.n, self.width = (int(v) for v in sizes[:5])

    def text(self):
        shape = lambda rows: f"{self.kind}[{self.batch}, {self.heads}, {rows}, {self.width}]"
        text = "problem p\n" + ("" if self.wide else f"precision {self.kind} accumulate f32\n")
        text += f"in q : {shape(self.m)} ~ normal\nin k : {shape(self.n)} ~ normal\n"
        text += f"in v : {shape(self.n)} ~ normal\nout o : {shape(self.m)}\n"
        text += f"o = {'causal_' if self.causal else ''}attention(q, k, v)\n"
        if self.stage.strip():
            text += f"\nkernel for p on sm_90a\nstage o : {self.stage.strip()}\n"
        return text

    def error(self, tensors, result):
        rows = torch.randint(self.m, (64,), device="cuda")
        q, k, v = (tensors[n][0, 0].double() for n in "qkv")
        scores = q[rows] @ k.T * self.width**-0.5
        if self.causal:
            scores = scores.masked_fill(torch.arange(self.n, device="cuda")[None, :] > rows[:, None], float("-inf"))
        truth = scores.softmax(1) @ v
        return ((result[0, 0][rows].double() - truth).square().mean() / truth.square().mean()).sqrt().item()


def best_backend(case, t):
    found = []
    for backend in BACKENDS:
        def call(backend=backend):
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(t["q"], t["k"], t["v"], is_causal=case.causal)
        try:
            call()
            found.append((time_ms(call, 5), backend.name, call))
        except RuntimeError:
            continue
    return min(found, key=lambda f: f[0])


def compare(case, kernel):
    kernel.load()
    make = lambda rows: torch.randn((case.batch, case.heads, rows, case.width), device="cuda").to(TYPES[case.kind])
    t = {"q": make(case.m), "k": make(case.n), "v": make(case.n)}
    t["o"] = torch.full_like(t["q"], float("nan"))
    ours = lambda: kernel.run(t)
    _, name, theirs = best_backend(case, t)
    ours()
    errors = case.error(t, t["o"]), case.error(t, theirs())
    us, them = alternate([ours, theirs])
    rate = 4e-9 * case.batch * case.heads * case.m * case.n * case.width * (0.5 if case.causal else 1)
    print(
        f"{case.name}: {us:.3f} ms {rate / us:.1f} TFLOP/s, PyTorch {them:.3f} ms {rate / them:.1f} ({name}), "
        f"{them / us:.2f}x its speed; rms error {errors[0]:.1e}, PyTorch {errors[1]:.1e}; {kernel.stage}",
        flush=True,
    )


def main():
    torch.zeros(1, device="cuda")
    torch.manual_seed(1)
    cases = [Case(line.strip()) for line in sys.stdin if line.strip() and not line.startswith("#")]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        kernels = [pool.submit(Kernel, sys.argv[1], case) for case in cases]
        for case, kernel in zip(cases, kernels):
            try:
                compare(case, kernel.result())
            except (RuntimeError, subprocess.CalledProcessError) as error:
                print(f"{case.name}: {str(error)[:300]}", flush=True)
            torch.cuda.empty_cache()


main()
