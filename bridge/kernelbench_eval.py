"""KernelBench's own evaluation function on our bench kernels, timed.

    KERNELBENCH=DIR python3 bridge/kernelbench_eval.py bench/kernels

DIR is a checkout of KernelBench with what it imports. Each kernel is handed over the way that
KernelBench expects it: a reference Model in PyTorch, and a ModelNew whose CUDA source is the very
text that hone judges, built by torch's load_inline. Arguments as in its own scripts: five
correctness trials, a hundred timed ones. One JSON line for each kernel: the seconds of the call to
eval_kernel_against_ref, and what it found. The import of torch and KernelBench is not counted.
"""

import json
import os
import sys
import tempfile
import time

SIZE = {"M": 4096, "N": 4096}

REFERENCE = {
    "softmax": """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
def get_inputs():
    return [torch.randn({M}, {N})]
def get_init_inputs():
    return []
""",
    "gelu": """
import torch
class Model(torch.nn.Module):
    def forward(self, x, bias, gate, skip):
        return torch.nn.functional.gelu(x + bias) * gate + skip
def get_inputs():
    return [torch.randn({M}, {N}), torch.rand({N}) * 2 - 1, torch.randn({M}, {N}), torch.randn({M}, {N})]
def get_init_inputs():
    return []
""",
}

# name: (arguments, launch)
LAUNCH = {
    "softmax": (["x"], "rows<<<{M}, 256, 0, stream>>>"),
    "gelu": (["x", "bias", "gate", "skip"], "chain<<<dim3({N} / 256, {M}), 256, 0, stream>>>"),
}

NEW = '''
import torch
from torch.utils.cpp_extension import load_inline
cuda = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#define M {M}
#define N {N}
{kernel}
#undef M
#undef N
torch::Tensor run({parameters}) {{
    auto y = torch::empty_like(x);
    auto stream = at::cuda::getCurrentCUDAStream();
    {launch}({pointers}, y.data_ptr<float>());
    return y;
}}
"""
module = load_inline(name="{unique}", cpp_sources="torch::Tensor run({parameters});",
                     cuda_sources=cuda, functions=["run"], extra_cuda_cflags=["-O3"])
class ModelNew(torch.nn.Module):
    def forward(self, {names}):
        return module.run({names})
'''


def model_new(name, kernel):
    names, launch = LAUNCH[name]
    return NEW.format(
        kernel=kernel,
        parameters=", ".join(f"torch::Tensor {n}" for n in names),
        pointers=", ".join(f"{n}.data_ptr<float>()" for n in names),
        names=", ".join(names),
        launch=launch.format(**SIZE),
        unique=f"hone_bench_{name}_{os.getpid()}",
        **SIZE,
    )


def main():
    if len(sys.argv) != 2 or "KERNELBENCH" not in os.environ:
        sys.exit(__doc__)
    sys.path.insert(0, os.path.join(os.environ["KERNELBENCH"], "src"))
    import torch
    from kernelbench.eval import eval_kernel_against_ref

    torch.zeros(1, device="cuda")
    for name in LAUNCH:
        with open(os.path.join(sys.argv[1], name + ".cu")) as f:
            kernel = "".join(line for line in f if not line.startswith("#pragma hone"))
        with tempfile.TemporaryDirectory() as build:
            begin = time.perf_counter()
            result = eval_kernel_against_ref(
                REFERENCE[name].format(**SIZE),
                model_new(name, kernel),
                num_correct_trials=5,
                num_perf_trials=100,
                measure_performance=True,
                build_dir=build,
                device=torch.device("cuda:0"),
            )
            seconds = time.perf_counter() - begin
        print(
            json.dumps(
                {
                    "kernel": name,
                    "seconds": round(seconds, 2),
                    "correct": bool(result.correctness),
                    "runtime_ms": result.runtime,
                }
            ),
            flush=True,
        )


main()
