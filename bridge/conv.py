"""Emitted convolutions against cuDNN (through PyTorch), each pair in one process.

    python3 bridge/conv.py HONE <cases

A case is a line `NAME TYPE X W [OPTIONS] [/ STAGE]`: TYPE is f32, tf32, f16 or bf16 (results of the same
type), X and W are shapes like 16,3,224,224, OPTIONS are stride=, padding=, dilation=, groups=,
output_padding= (a number, or one for each axis: 2,3) and the word transposed, and STAGE is what stands after
`stage y :` in a kernel block, none for the kernel that hone would begin with. The text of `hone emit` is
compiled by nvcc and launched as its plan says, all launches counted; 2048 results are compared with float64
before anything is timed; then batches alternate, ours, theirs, theirs, ours, and medians are printed, a line
for each case, with the times of its first three launches. cuDNN has the image as it is given ([batch, channels, ...]) and chooses the fastest of its
algorithms (torch.backends.cudnn.benchmark). Under f32 it multiplies without TF32, and its time with TF32 is
printed too.
"""

import concurrent.futures
import ctypes
import itertools
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

import torch

TYPES = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32}
RUNTIME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runtime")
DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
MAP_TYPES = {torch.bfloat16: 9, torch.float16: 6, torch.int32: 3}  # CUtensorMapDataType
SWIZZLE_128 = 3  # CU_TENSOR_MAP_SWIZZLE_128B
SAMPLES = 2048
BATCHES = 5

cuda = ctypes.CDLL("libcuda.so.1")


def check(status):
    if status:
        sys.exit(f"the driver returned {status}")


class Case:
    def __init__(self, line):
        words, _, self.stage = line.partition("/")
        self.name, self.kind, x, w, *options = words.split()
        self.x, self.w = ([int(v) for v in text.split(",")] for text in (x, w))
        self.axes = len(self.x) - 2
        self.transposed = "transposed" in options
        given = dict(o.split("=") for o in options if "=" in o)
        self.groups = int(given.get("groups", 1))
        for name, default in (("stride", 1), ("padding", 0), ("dilation", 1), ("output_padding", 0)):
            values = [int(v) for v in given.get(name, str(default)).split(",")]
            setattr(self, name, values * self.axes if len(values) == 1 else values)
        self.y = [self.x[0], self.w[1] * self.groups if self.transposed else self.w[0]]
        for i in range(self.axes):
            n, s, p, span = self.x[2 + i], self.stride[i], self.padding[i], self.dilation[i] * (self.w[2 + i] - 1) + 1
            size = (n - 1) * s - 2 * p + span + self.output_padding[i] if self.transposed else (n + 2 * p - span) // s + 1
            self.y.append(size)
        # A product and a sum for every term that there is, borders counted as if they were inside.
        whole = self.x if self.transposed else self.y
        per_group = self.w[1]
        self.flops = 2.0 * math.prod(whole) * per_group * math.prod(self.w[2:])

    def text(self):
        stored = "f32" if self.kind == "tf32" else self.kind
        options = f"stride={tuple(self.stride)}, padding={tuple(self.padding)}, dilation={tuple(self.dilation)}, groups={self.groups}"
        if self.transposed:
            options += f", output_padding={tuple(self.output_padding)}"
        options = options.replace(",)", ")")
        call = f"conv{'_transpose' if self.transposed else ''}{self.axes}d(x, w, {options})"
        text = f"problem p\n{'precision tf32' if self.kind == 'tf32' else ''}\n"
        text += f"in x : {stored}{self.x} ~ normal\nparam w : {stored}{self.w} ~ normal\nout y : {stored}{self.y}\n"
        text += f"y = {call}\n"
        if self.stage.strip():
            text += f"\nkernel for p on sm_90a\nstage y : {self.stage.strip()}\n"
        return text

    def call(self, x, w):
        name = f"conv{'_transpose' if self.transposed else ''}{self.axes}d"
        options = {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}
        if self.transposed:
            options["output_padding"] = self.output_padding
        return getattr(torch.nn.functional, name)(x, w, **options)

    def truth(self, x, w, at):
        """float64 sums of results at `at`: one index for each axis of y."""
        image, channel, *place = at
        inside = self.x[1] // self.groups
        group = channel // (self.y[1] // self.groups)
        channels = group[:, None] * inside + torch.arange(inside, device="cuda")
        total = torch.zeros(len(image), device="cuda", dtype=torch.float64)
        for tap in itertools.product(*(range(n) for n in self.w[2:])):
            good = torch.ones(len(image), device="cuda", dtype=torch.bool)
            where = []
            for i, j in enumerate(tap):
                if self.transposed:
                    p = place[i] + self.padding[i] - j * self.dilation[i]
                    good &= p % self.stride[i] == 0
                    p = torch.div(p, self.stride[i], rounding_mode="floor")
                else:
                    p = place[i] * self.stride[i] + j * self.dilation[i] - self.padding[i]
                good &= (p >= 0) & (p < self.x[2 + i])
                where.append(p.clamp(0, self.x[2 + i] - 1)[:, None])
            values = x[(image[:, None], channels, *where)].double()
            if self.transposed:
                weights = w[(channels, (channel % self.w[1])[:, None], *tap)].double()
            else:
                weights = w[(channel, slice(None), *tap)].double()
            total += torch.where(good, (values * weights).sum(1), 0.0)
        return total


class Kernel:
    """Emitted kernels of one case, compiled; `load` brings them to the card."""

    def __init__(self, hone, case):
        with tempfile.TemporaryDirectory() as place:
            with open(f"{place}/p.hone", "w", encoding="utf-8") as file:
                file.write(case.text())
            emit = [hone, "emit", f"{place}/p.hone", "--target", "sm_90a"]
            run = subprocess.run(emit, check=False, capture_output=True, text=True)
            if run.returncode:
                raise RuntimeError(run.stderr)
            source = run.stdout
            with open(f"{place}/p.cu", "w", encoding="utf-8") as file:
                file.write(source)
            nvcc = ["nvcc", "-arch=sm_90a", "-I", RUNTIME, "-cubin", "-o", f"{place}/p.cubin"]
            subprocess.run(nvcc + [f"{place}/p.cu"], check=True, capture_output=True)
            with open(f"{place}/p.cubin", "rb") as file:
                self.image = file.read()
        self.stage = re.search(r"// stage \w+ +: (.*)", source).group(1)
        self.scratch = re.findall(r"#pragma hone scratch (\w+) (\w+)\[(.*?)\]", source)
        self.plan = re.findall(
            r"#pragma hone launch (\w+) grid\((.*?)\) block\((\d+)\)(?: shared\((\d+)\))?(?: programmatic)? args\((.*?)\)", source
        )
        self.maps = re.findall(
            r"#pragma hone tensormap (\w+) = (\w+) dims\((.*?)\) strides\((.*?)\) box\((.*?)\) swizzle\(128\)", source
        )
        self.launches, self.encoded = [], {}

    def encode(self, tensors):
        """Tensor maps of operands: where each lies, at a multiple of 64 bytes."""
        tensors = {**tensors, **self.buffers}
        for name, of, *lists in self.maps:
            dims, strides, box = ([int(v) for v in text.split(",")] for text in lists)
            rank, memory = len(dims), ctypes.create_string_buffer(192)
            at = (ctypes.addressof(memory) + 63) // 64 * 64
            fixed = [ctypes.c_void_p(at), MAP_TYPES[tensors[of].dtype], rank, ctypes.c_void_p(tensors[of].data_ptr())]
            fixed += [(ctypes.c_uint64 * rank)(*dims), (ctypes.c_uint64 * len(strides))(*strides)]
            fixed += [(ctypes.c_uint32 * rank)(*box), (ctypes.c_uint32 * rank)(*([1] * rank))]
            check(cuda.cuTensorMapEncodeTiled(*fixed, 0, SWIZZLE_128, 0, 0))
            self.encoded[name] = (memory, at)

    def load(self):
        module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), self.image))
        self.buffers = {
            name: torch.empty(math.prod(int(v) for v in shape.split(",")), device="cuda", dtype=TYPES[kind])
            for name, kind, shape in self.scratch
        }
        for name, grid, block, shared, arguments in self.plan:
            function = ctypes.c_void_p()
            check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
            if shared:
                check(cuda.cuFuncSetAttribute(function, DYNAMIC_SHARED, int(shared)))
            self.launches.append((function, int(grid), int(block), int(shared or 0), arguments.split(", ")))

    def run(self, tensors, only=None):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if self.maps and not self.encoded:
            self.encode(tensors)
        for function, grid, block, shared, names in self.launches if only is None else [self.launches[only]]:
            tensors_of = {n: tensors.get(n, self.buffers.get(n)) for n in names if n not in self.encoded}
            pointers = {n: ctypes.c_void_p(t.data_ptr()) for n, t in tensors_of.items()}
            places = [self.encoded[n][1] if n in self.encoded else ctypes.addressof(pointers[n]) for n in names]
            arguments = (ctypes.c_void_p * len(places))(*places)
            dims = [ctypes.c_uint(d) for d in (grid, 1, 1, block, 1, 1)]
            check(cuda.cuLaunchKernel(function, *dims, ctypes.c_uint(shared), stream, arguments, None))


def time_ms(call, repeats):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repeats


def alternate(calls):
    for call in calls:
        call()
    repeats = max(1, min(50, int(20 / (time_ms(calls[0], 1) + 0.01))))
    times = [[] for _ in calls]
    order = list(range(len(calls)))
    for _ in range(BATCHES):
        for which in order + order[::-1]:
            times[which].append(time_ms(calls[which], repeats))
    return [statistics.median(t) for t in times]


def with_tf32(case, x, w, allowed):
    def call():
        torch.backends.cudnn.allow_tf32 = allowed
        return case.call(x, w)

    return call


def compare(case, kernel):
    kernel.load()
    x = torch.randn(case.x, device="cuda").to(TYPES[case.kind])
    w = (torch.randn(case.w, device="cuda") * 0.05).to(TYPES[case.kind])
    y = torch.full(case.y, float("nan"), device="cuda", dtype=TYPES[case.kind])
    at = [torch.randint(n, (SAMPLES,), device="cuda") for n in case.y]
    truth = case.truth(x, w, at)
    error = lambda r: ((r[tuple(at)].double() - truth).square().mean() / truth.square().mean()).sqrt().item()
    ours = lambda: kernel.run({"x": x, "w": w, "y": y})
    calls = [ours, with_tf32(case, x, w, case.kind == "tf32")]
    if case.kind == "f32":
        calls.append(with_tf32(case, x, w, True))
    ours()
    errors = [error(y), error(calls[1]())]
    times = alternate(calls)
    rate = case.flops * 1e-9
    line = f"{case.name} {case.kind}: {times[0]:.3f} ms {rate / times[0]:.1f} TFLOP/s, cuDNN {times[1]:.3f} ms {rate / times[1]:.1f}, "
    line += f"{times[1] / times[0]:.2f}x its speed"
    if case.kind == "f32":
        line += f" ({times[2] / times[0]:.2f}x of TF32's)"
    parts = [time_ms(lambda i=i: kernel.run({"x": x, "w": w, "y": y}, i), 3) for i in range(min(3, len(kernel.plan)))]
    line += f"; launches {' '.join(f'{p:.3f}' for p in parts)}{' ...' if len(kernel.plan) > 3 else ''}"
    print(f"{line}; rms error {errors[0]:.1e}, cuDNN {errors[1]:.1e}; {kernel.stage}", flush=True)


def main():
    torch.zeros(1, device="cuda")
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    cases = [Case(line.strip()) for line in sys.stdin if line.strip() and not line.startswith("#")]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        kernels = [pool.submit(Kernel, sys.argv[1], case) for case in cases]
        for case, kernel in zip(cases, kernels):
            try:
                compare(case, kernel.result())
            except (RuntimeError, subprocess.CalledProcessError) as error:
                print(f"{case.name} {case.kind}: {str(error)[:300]}", flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
