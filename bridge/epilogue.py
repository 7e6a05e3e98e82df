"""Emitted products with bias and GELU against cuBLASLt, in one process.

    python3 bridge/epilogue.py HONE <cases

A case is a line `TYPE FUNCTION M N K [KNOBS]`: TYPE is bf16 or f16, FUNCTION gelu (exact) or gelu_tanh; x[M, K] and w[N, K] are
stored row by row. Two peers: cuBLASLt's product followed by one kernel for bias and function, which hone emits too, and cuBLASLt with
its own epilogue for both (which has gelu_tanh only). Each is the fastest of up to 32 algorithms that cuBLASLt proposes with 32 MiB to
work in. 4096 elements are compared with float64; then calls take turns, each from a cold L2, and medians are printed.
"""

import ctypes
import glob
import os
import statistics
import sys

import torch
from tensor import NAMES, Kernel

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
CUDA_TYPES = {torch.float16: 2, torch.bfloat16: 14, torch.float32: 0}  # cudaDataType
COMPUTE_F32, OP_T = 68, 1  # CUBLAS_COMPUTE_32F, CUBLAS_OP_T
TRANSA, EPILOGUE, BIAS_POINTER, BIAS_TYPE = 3, 7, 8, 26  # cublasLtMatmulDescAttributes_t
GELU_BIAS = 36  # CUBLASLT_EPILOGUE_GELU_BIAS
WORKSPACE, ALGORITHMS = 32 << 20, 32
ROUNDS, FLUSH_BYTES = 25, 180 << 20


def check(status):
    if status:
        sys.exit(f"cuBLASLt returned {status}")


class Result(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [
        ("algo", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    ]


def open_library():
    places = [os.path.join(os.path.dirname(p), "nvidia") for p in torch.__path__]
    found = [f for p in places for f in glob.glob(f"{p}/*/lib/libcublasLt.so.1[23]")]
    return ctypes.CDLL(sorted(found)[-1] if found else "libcublasLt.so.13")


class Product:
    """out = x @ w.T by cuBLASLt, with bias and GELU where `bias` is given; the fastest algorithm."""

    library = handle = workspace = None

    def __init__(self, x, w, out, bias=None):
        if not Product.library:
            Product.library = open_library()
            Product.handle = ctypes.c_void_p()
            check(Product.library.cublasLtCreate(ctypes.byref(Product.handle)))
            Product.workspace = torch.empty(WORKSPACE, device="cuda", dtype=torch.uint8)
        (m, k), n = x.shape, w.shape[0]
        self.x, self.w, self.out, kind = x, w, out, CUDA_TYPES[x.dtype]
        self.operation, preference = ctypes.c_void_p(), ctypes.c_void_p()
        check(self.library.cublasLtMatmulDescCreate(ctypes.byref(self.operation), COMPUTE_F32, 0))
        self.set(TRANSA, ctypes.c_int(OP_T))
        if bias is not None:
            self.set(EPILOGUE, ctypes.c_int(GELU_BIAS))
            self.set(BIAS_POINTER, ctypes.c_void_p(bias.data_ptr()))
            self.set(BIAS_TYPE, ctypes.c_int(kind))
        self.layouts = []
        for rows, columns in ((k, n), (k, m), (n, m)):
            layout = ctypes.c_void_p()
            size = (ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows))
            check(self.library.cublasLtMatrixLayoutCreate(ctypes.byref(layout), kind, *size))
            self.layouts.append(layout)
        check(self.library.cublasLtMatmulPreferenceCreate(ctypes.byref(preference)))
        size = ctypes.c_size_t(WORKSPACE)
        set_preference = self.library.cublasLtMatmulPreferenceSetAttribute
        check(set_preference(preference, 1, ctypes.byref(size), ctypes.c_size_t(8)))
        self.results, count = (Result * ALGORITHMS)(), ctypes.c_int()
        a, b, c = self.layouts
        propose = self.library.cublasLtMatmulAlgoGetHeuristic
        check(propose(self.handle, self.operation, a, b, c, c, preference, ALGORITHMS, self.results, ctypes.byref(count)))
        times = [statistics.median(cold_ms(lambda: self.launch(i)) for _ in range(3)) for i in range(count.value)]
        self.best = min(range(count.value), key=lambda i: times[i])

    def set(self, attribute, value):
        size = ctypes.c_size_t(ctypes.sizeof(value))
        check(self.library.cublasLtMatmulDescSetAttribute(self.operation, attribute, ctypes.byref(value), size))

    def launch(self, algorithm=None):
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        a, b, c = self.layouts
        x, w, out, workspace = (ctypes.c_void_p(t.data_ptr()) for t in (self.x, self.w, self.out, self.workspace))
        chosen = ctypes.byref(self.results[self.best if algorithm is None else algorithm])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        size = ctypes.c_size_t(WORKSPACE)
        last = (chosen, workspace, size, stream)
        multiply = self.library.cublasLtMatmul
        check(multiply(self.handle, self.operation, ctypes.byref(one), w, a, x, b, ctypes.byref(zero), out, c, out, c, *last))


flushed = None


def cold_ms(call):
    """One call after another buffer went through the L2; the clock starts when that has ended."""
    global flushed
    if flushed is None:
        flushed = torch.zeros(FLUSH_BYTES // 4, device="cuda")
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    flushed.sum()
    flushed.sum()
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def problem_text(kind, function, sizes, knobs, is_product):
    m, n, k = sizes
    text = f"problem layer\ndim M = {m}, N = {n}, K = {k}\n" if is_product else f"problem layer\ndim M = {m}, N = {n}\n"
    if is_product:
        text += f"in x : {kind}[M, K] ~ normal\nin w : {kind}[N, K] ~ normal\n"
    else:
        text += f"in t : {kind}[M, N] ~ normal\n"
    text += f"in b : {kind}[N] ~ normal\nout y : {kind}[M, N]\ny = {function}({'x @ w.T' if is_product else 't'} + b)\n"
    if knobs and is_product:
        text += f"\nkernel for layer on sm_90a\nstage y : gemm {knobs}\n"
    return text


def error_of(y, x, w, b, function):
    i = torch.randint(y.shape[0], (4096,), device="cuda")
    j = torch.randint(y.shape[1], (4096,), device="cuda")
    truth = torch.zeros(4096, device="cuda", dtype=torch.float64)
    for first in range(0, 4096, 512):
        part = slice(first, first + 512)
        truth[part] = (x[i[part]].double() * w[j[part]].double()).sum(1) + b[j[part]].double()
    approximate = "tanh" if function == "gelu_tanh" else "none"
    truth = torch.nn.functional.gelu(truth, approximate=approximate)
    return ((y[i, j].double() - truth).square().mean() / truth.square().mean()).sqrt().item()


def compare(hone, line):
    kind, function, *rest = line.split(None, 5)
    m, n, k = sizes = tuple(int(v) for v in rest[:3])
    knobs = rest[3] if len(rest) > 3 else ""
    stored = TYPES[kind]
    x = torch.randn((m, k), device="cuda").to(stored)
    w = (torch.randn((n, k), device="cuda") * k**-0.5).to(stored)
    b = torch.randn(n, device="cuda").to(stored)
    y, t, z = (torch.full((m, n), float("nan"), device="cuda", dtype=stored) for _ in range(3))
    kernel = Kernel(hone, problem_text(NAMES[stored], function, sizes, knobs, True), dict(zip("MNK", sizes)))
    behind = Kernel(hone, problem_text(NAMES[stored], function, sizes, "", False), {"M": m, "N": n})
    product, fused = Product(x, w, t), Product(x, w, z, b)

    def two():
        product.launch()
        behind.launch({"t": t, "b": b, "y": z})

    calls = {
        "ours": (lambda: kernel.launch({"x": x, "w": w, "b": b, "y": y}), y, function),
        "cuBLASLt and one kernel": (two, z, function),
        "cuBLASLt's epilogue": (fused.launch, z, "gelu_tanh"),
    }
    times, errors = {name: [] for name in calls}, {}
    for name, (call, out, meant) in calls.items():
        call()
        errors[name] = error_of(out, x, w, b, meant)
    for _ in range(ROUNDS):
        for name, (call, _, _) in calls.items():
            times[name].append(cold_ms(call))
    ms = {name: statistics.median(t) for name, t in times.items()}
    peers = "; ".join(
        f"{name} {ms[name]:.4f} ms, {ms[name] / ms['ours']:.3f}x its speed, error {errors[name]:.1e}" for name in calls if name != "ours"
    )
    print(f"{kind} {function} {m}x{n}x{k}: {ms['ours']:.4f} ms, error {errors['ours']:.1e}; {peers}; {kernel.stage}", flush=True)


def main():
    torch.zeros(1, device="cuda")
    torch.manual_seed(1)
    for line in sys.stdin:
        if line.strip():
            compare(sys.argv[1], line.strip())


if __name__ == "__main__":
    main()
