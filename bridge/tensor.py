"""Emitted matrix products against cuBLAS (through PyTorch), each pair in one process.

    python3 bridge/tensor.py HONE <cases

A case is a line `TYPE LAYOUT M N K [KNOBS]`: TYPE is bf16, f16 (results of the same type), f16-f32, tf32,
f32, f32-exact, i8 (results of i32, against torch._int_mm), f8 (f8e4m3, results of bf16, sums of f22, against torch._scaled_mm; f8-fast: against its
use_fast_accum; f8-f32: with sums of f32); LAYOUT says how the operands are stored, n (row by row) or t (transposed) each; KNOBS are those of
`gemm as mma` (or `as wgmma` and its own), none for the kernel that hone would begin with. The text of `hone emit` is compiled by nvcc
and launched as its plan says, all of its kernels, from a graph; 4096 elements are compared with float64 before anything is timed; then
batches alternate, ours, theirs, theirs, ours, and the medians are printed, a line for each case.
"""

import concurrent.futures
import ctypes
import re
import statistics
import subprocess
import sys
import tempfile

import torch

TYPES = {
    "bf16": (torch.bfloat16, torch.bfloat16),
    "f16": (torch.float16, torch.float16),
    "f16-f32": (torch.float16, torch.float32),
    "tf32": (torch.float32, torch.float32),
    "f32": (torch.float32, torch.float32),
    "f32-exact": (torch.float32, torch.float32),
    "i8": (torch.int8, torch.int32),
    "f8": (torch.float8_e4m3fn, torch.bfloat16),
    "f8-fast": (torch.float8_e4m3fn, torch.bfloat16),
    "f8-f32": (torch.float8_e4m3fn, torch.bfloat16),
}
PRECISIONS = {
    "tf32": "precision tf32",
    "f32-exact": "precision f32 exact",
    "f8": "precision f8e4m3 accumulate f22",
    "f8-fast": "precision f8e4m3 accumulate f22",
}
NAMES = {
    torch.float8_e4m3fn: "f8e4m3",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.float32: "f32",
    torch.int8: "i8",
    torch.int32: "i32",
}
DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
MAP_TYPES = {torch.bfloat16: 9, torch.float16: 6, torch.float32: 7, torch.int8: 0, torch.float8_e4m3fn: 0}  # CUtensorMapDataType
CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
PROGRAMMATIC = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
SWIZZLE_128 = 3  # CU_TENSOR_MAP_SWIZZLE_128B
BATCHES = 9

cuda = ctypes.CDLL("libcuda.so.1")


def check(status):
    if status:
        sys.exit(f"the driver returned {status}")


def problem_text(kind, layout, m, n, k, knobs):
    stored, result = (NAMES[t] for t in TYPES[kind])
    a = "M, K" if layout[0] == "n" else "K, M"
    b = "K, N" if layout[1] == "n" else "N, K"
    text = f"problem product\n{PRECISIONS.get(kind, '')}\ndim M = {m}, N = {n}, K = {k}\n"
    draw = "integers(-128, 127)" if kind == "i8" else "normal"
    text += f"in a : {stored}[{a}] ~ {draw}\nin b : {stored}[{b}] ~ {draw}\nout c : {result}[M, N]\n"
    text += f"c = {'a' if layout[0] == 'n' else 'a.T'} @ {'b' if layout[1] == 'n' else 'b.T'}\n"
    if knobs:
        emitter = knobs if knobs.startswith("as ") else f"as mma  {knobs}"
        text += f"\nkernel for product on sm_90a\nstage c : gemm {emitter}\n"
    return text


STORAGE = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32}


class Attribute(ctypes.Structure):
    """CUlaunchAttribute: its number, and the sizes of a cluster (or a 1) at the begin of 64 bytes."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("cluster", ctypes.c_uint * 3), ("rest", ctypes.c_uint * 13)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("dims", ctypes.c_uint * 6),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    ]


class Launch:
    """One kernel of a plan."""

    def __init__(self, module, line, names):
        clauses = dict(re.findall(r" (\w+)\(((?:[^()]|\([^()]*\))*)\)", line))
        grid, block, shared, arguments = (clauses.get(c) for c in ("grid", "block", "shared", "args"))
        name, self.cluster = line.split()[0], int(clauses.get("cluster", 1))
        self.is_programmatic = " programmatic " in line
        self.grid = eval(grid.replace("/", "//"), {}, names)  # sizes and + - * / alone
        self.block, self.shared, self.arguments = int(block), int(shared or 0), arguments.split(", ")
        self.function = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, name.encode()))
        if self.shared:
            check(cuda.cuFuncSetAttribute(self.function, DYNAMIC_SHARED, self.shared))


def compile_text(hone, text):
    """What hone emits for a problem, and what nvcc makes of it."""
    with tempfile.TemporaryDirectory() as place:
        with open(f"{place}/p.hone", "w", encoding="utf-8") as file:
            file.write(text)
        emit = [hone, "emit", f"{place}/p.hone", "--target", "sm_90a"]
        source = subprocess.run(emit, check=True, stdout=subprocess.PIPE, text=True).stdout
        with open(f"{place}/p.cu", "w", encoding="utf-8") as file:
            file.write(source)
        nvcc = ["nvcc", "-arch=sm_90a", "-I", "runtime", "-cubin", "-o", f"{place}/p.cubin"]
        said = subprocess.run(nvcc + [f"{place}/p.cu"], check=True, capture_output=True, text=True)
        if "wgmma" in said.stderr or "warpgroup" in said.stderr:
            print(said.stderr, file=sys.stderr)
        with open(f"{place}/p.cubin", "rb") as file:
            return source, file.read()


class Kernel:
    """The kernels of one emitted text, loaded, and their scratch memory."""

    def __init__(self, hone, text, sizes, compiled=None):
        source, self.image = compiled or compile_text(hone, text)
        self.stage = re.search(r"// (stage .*)", source).group(1)
        names = sizes if isinstance(sizes, dict) else dict(zip("MNK", sizes))
        self.maps = re.findall(
            r"#pragma hone tensormap (\w+) = (\w+) dims\((.*?)\) strides\((.*?)\) box\((.*?)\) swizzle\(128\)", source
        )
        self.encoded = {}
        module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), self.image))
        self.launches = [Launch(module, line, names) for line in re.findall(r"#pragma hone launch (.*)", source)]
        self.scratch, self.zeroed = {}, []
        for name, kind, shape, zero in re.findall(r"#pragma hone scratch (\w+) (\w+)\[(.*?)\]( = 0)?", source):
            sizes_of = [eval(v.replace("/", "//"), {}, names) for v in shape.split(",")]
            self.scratch[name] = torch.zeros(sizes_of, device="cuda", dtype=STORAGE[kind])
            if zero:
                self.zeroed.append(self.scratch[name])

    def encode(self, tensors):
        """Tensor maps of operands of 16 bits: where each lies, at a multiple of 64 bytes."""
        for name, of, *lists in self.maps:
            dims, strides, box = ([int(v) for v in text.split(",")] for text in lists)
            rank, memory = len(dims), ctypes.create_string_buffer(192)
            at = (ctypes.addressof(memory) + 63) // 64 * 64
            number = MAP_TYPES[tensors[of].dtype]
            check(
                cuda.cuTensorMapEncodeTiled(
                    ctypes.c_void_p(at),
                    number,
                    rank,
                    ctypes.c_void_p(tensors[of].data_ptr()),
                    (ctypes.c_uint64 * rank)(*dims),
                    (ctypes.c_uint64 * len(strides))(*strides),
                    (ctypes.c_uint32 * rank)(*box),
                    (ctypes.c_uint32 * rank)(*([1] * rank)),
                    0,
                    SWIZZLE_128,
                    0,
                    0,
                )
            )
            self.encoded[name] = (memory, at)

    def launch(self, tensors, only=None):
        """All kernels in their order, or one of them."""
        tensors = {**tensors, **self.scratch}
        if self.maps and not self.encoded:
            self.encode(tensors)
        for t in self.zeroed:
            t.zero_()
        pointers = {name: ctypes.c_void_p(t.data_ptr()) for name, t in tensors.items()}
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        for k in self.launches if only is None else self.launches[only : only + 1]:
            places = [
                self.encoded[name][1] if name in self.encoded else ctypes.addressof(pointers[name])
                for name in k.arguments
            ]
            arguments = (ctypes.c_void_p * len(places))(*places)
            said = [Attribute(CLUSTER_DIMENSION, 0, (k.cluster, 1, 1))] if k.cluster > 1 else []
            # Alone there is nothing that it could overlap.
            if k.is_programmatic and only is None:
                said.append(Attribute(PROGRAMMATIC, 0, (1, 0, 0)))
            attributes = (Attribute * 2)(*said)
            dims = (ctypes.c_uint * 6)(k.grid, 1, 1, k.block, 1, 1)
            config = Config(dims, k.shared, stream, attributes, len(said))
            check(cuda.cuLaunchKernelEx(ctypes.byref(config), k.function, arguments, None))


def error_of(result, left, right):
    """Relative rms error of 4096 elements against float64."""
    i = torch.randint(result.shape[0], (4096,), device="cuda")
    j = torch.randint(result.shape[1], (4096,), device="cuda")
    truth = torch.zeros(4096, device="cuda", dtype=torch.float64)
    for first in range(0, 4096, 512):
        part = slice(first, first + 512)
        truth[part] = (left[i[part]].double() * right[:, j[part]].T.double()).sum(1)
    return ((result[i, j].double() - truth).square().mean() / truth.square().mean()).sqrt().item()


def record(call, repeats):
    """A graph of so many calls: launching from here would take longer than small kernels do."""
    graph = torch.cuda.CUDAGraph()
    call()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call()
    return graph


def time_ms(graph, repeats):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repeats


def draw(shape, stored):
    if stored == torch.int8:
        return torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8)
    return torch.randn(shape, device="cuda").to(stored)


def multiply(kind, left, right, one):
    """The product by PyTorch."""
    if kind == "i8":
        return torch._int_mm(left, right)
    if kind.startswith("f8"):
        return torch._scaled_mm(left, right, one, one, out_dtype=torch.bfloat16, use_fast_accum=kind == "f8-fast")
    return torch.matmul(left, right)


def read_case(line):
    kind, layout, *rest = line.split(None, 5)
    m, n, k = (int(v) for v in rest[:3])
    return kind, layout, m, n, k, rest[3] if len(rest) > 3 else ""


def compare(hone, line, compiled):
    kind, layout, m, n, k, _ = read_case(line)
    kernel = Kernel(hone, "", (m, n, k), compiled)
    stored, result = TYPES[kind]
    a = draw((m, k) if layout[0] == "n" else (k, m), stored)
    b = draw((k, n) if layout[1] == "n" else (n, k), stored)
    left, right = a if layout[0] == "n" else a.T, b if layout[1] == "n" else b.T
    c = torch.full((m, n), -1 if kind == "i8" else float("nan"), device="cuda", dtype=result)
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    ours = lambda: kernel.launch({"a": a, "b": b, "c": c})
    one = torch.ones((), device="cuda")
    theirs = lambda: multiply(kind, left, right, one)
    ours()
    exact = [t.half() if kind.startswith("f8") else t for t in (left, right)]
    mine, peer = error_of(c, *exact), error_of(theirs(), *exact)
    repeats = max(1, int(2e12 / (2.0 * m * n * k + 1e9)))
    times = ([], [])
    graphs = [record(call, repeats) for call in (ours, theirs)]
    for graph in graphs:
        time_ms(graph, repeats)
    for _ in range(BATCHES):
        for which in (0, 1, 1, 0):
            times[which].append(time_ms(graphs[which], repeats))
    us, them = (statistics.median(t) for t in times)
    rate = 2e-9 * m * n * k
    parts = []
    for i in range(len(kernel.launches)):
        graph = record(lambda: kernel.launch({"a": a, "b": b, "c": c}, i), repeats)
        parts.append(f"{statistics.median(time_ms(graph, repeats) for _ in range(3)):.4f}")
    print(
        f"{kind} {layout} {m}x{n}x{k}: {us:.4f} ms {rate / us:.1f} TFLOP/s, cuBLAS {them:.4f} ms "
        f"{rate / them:.1f}, {them / us:.3f}x its speed; rms error {mine:.1e}, cuBLAS {peer:.1e}; {kernel.stage}"
        + (f" ({' + '.join(parts)} ms)" if len(parts) > 1 else ""),
        flush=True,
    )


def main():
    torch.zeros(1, device="cuda")
    torch.manual_seed(1)
    lines = [line.strip() for line in sys.stdin if line.strip()]
    # Compiled side by side, timed one after the other.
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        texts = [pool.submit(compile_text, sys.argv[1], problem_text(*read_case(line))) for line in lines]
        concurrent.futures.wait(texts)
    for line, text in zip(lines, texts):
        if text.exception():
            print(f"{line}: {text.exception()}", flush=True)
        else:
            compare(sys.argv[1], line, text.result())


if __name__ == "__main__":
    main()
