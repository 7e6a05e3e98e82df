"""An exported kernel against PyTorch's best for the same problem, in one process.

    python3 bridge/peers.py softmax|gelu|gemm LIBRARY M N K

LIBRARY is the shared object of an exported directory; its function of the problem's name takes device
pointers, a workspace and a stream. The peers: torch.compile with mode max-autotune, with and without its
CUDA graphs, and PyTorch's eager call (for gemm that is cuBLAS in true f32). Calls are interleaved
ours, peer, peer, ours; before each the L2 cache is filled by reads of another buffer and the device
is kept busy long enough for the host to run ahead, so that events see device time alone. Results
are compared before anything is timed. One JSON line for each peer.
"""

import ctypes
import json
import statistics
import sys

import torch

PAIRS = 100


def problem(name, m, n, k):
    """Inputs in the order of the problem file, and the computation in PyTorch."""
    normal = lambda *shape: torch.randn(*shape, device="cuda")
    if name == "softmax":
        return [normal(m, n)], lambda x: torch.softmax(x, dim=1)
    if name == "gelu":
        bias = torch.rand(n, device="cuda") * 2 - 1
        inputs = [normal(m, n), bias, normal(m, n), normal(m, n)]
        return inputs, lambda x, b, g, s: torch.nn.functional.gelu(x + b) * g + s
    return [normal(m, k), normal(k, n)], lambda a, b: a @ b


def exported(path, name, inputs, output):
    """The exported function as a callable without arguments."""
    library = ctypes.CDLL(path)
    function = getattr(library, name)
    size_bytes = getattr(library, name + "_workspace_bytes")
    size_bytes.restype = ctypes.c_size_t
    workspace = torch.empty(max(size_bytes(), 1), dtype=torch.uint8, device="cuda")
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in inputs + [output, workspace]]

    def call():
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = function(*pointers, stream)
        if status:
            sys.exit(f"{name} returned {status}")

    return call


class Clock:
    def __init__(self):
        self.cold = torch.empty(64 << 20, dtype=torch.int32, device="cuda").zero_()

    def time_ms(self, call):
        self.cold.max()  # reads 256 MiB: nothing of ours stays in L2, nothing dirty is left
        torch.cuda._sleep(400_000)
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)


def against(clock, ours, peer):
    """Milliseconds of ours and of the peer, and the median ratio peer / ours of ABBA blocks."""
    for _ in range(10):
        clock.time_ms(ours), clock.time_ms(peer)
    a, b, ratios = [], [], []
    for _ in range(PAIRS):
        t = [clock.time_ms(f) for f in (ours, peer, peer, ours)]
        a += [t[0], t[3]]
        b += [t[1], t[2]]
        ratios.append((t[1] + t[2]) / (t[0] + t[3]))
    ratios.sort()
    return {
        "ours_ms": statistics.median(a),
        "peer_ms": statistics.median(b),
        "ratio": statistics.median(ratios),
        "low": ratios[len(ratios) // 20],
        "high": ratios[-1 - len(ratios) // 20],
    }


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    name, library = sys.argv[1], sys.argv[2]
    m, n, k = (int(v) for v in sys.argv[3:])
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(1)
    inputs, compute = problem(name, m, n, k)
    expected = compute(*inputs)
    output = torch.empty_like(expected).fill_(float("nan"))
    ours = exported(library, name, inputs, output)
    ours()
    torch.cuda.synchronize()
    error = ((output - expected).abs().max() / expected.abs().max()).item()
    if not error < 1e-5:
        sys.exit(f"{name}: differs from PyTorch by {error} of the largest element")
    peers = {"eager": lambda: compute(*inputs)}
    for mode in ("max-autotune", "max-autotune-no-cudagraphs"):
        compiled = torch.compile(compute, mode=mode)
        peers[mode] = lambda compiled=compiled: compiled(*inputs)
    clock = Clock()
    for label, peer in peers.items():
        for _ in range(4):
            peer()
        torch.cuda.synchronize()
        row = against(clock, ours, peer)
        print(json.dumps({"problem": name, "peer": label, **row}), flush=True)


main()
