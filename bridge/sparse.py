"""Sparse retrieval: an emitted sum over posting lists against Triton, in one process.

    python3 bridge/sparse.py HONE [STAGE...]

500 queries of 24 terms over an index of 100 000 documents, 30 000 terms and 4 000 000 postings. Terms of queries and
lengths of lists follow Zipf's law (the longest list has 47 652 postings); documents of a list are in no order, and may
be there twice. STAGE is what stands after `stage scores :` in a kernel block (`default`: the kernel that hone would begin with);
several are compared. The problem says `order any`, as atomic additions have none; a stage that begins with `ordered` is
of the problem without it, whose results are the same bits at every call.

Triton's kernel is written here and tuned over its configurations: a program for each query, term and piece of the
list, relaxed atomic additions to scores that were filled with zeros, which is part of its time. All scores are compared with float64
before anything is timed; then calls alternate, each after another buffer has filled the L2 cache, and medians are printed.
"""

import itertools
import math
import statistics
import sys

import torch
import triton
import triton.language as tl

from tensor import Kernel

SIZES = {"B": 500, "Q": 24, "TERMS": 30000, "POSTINGS": 4000000, "DOCS": 100000}
ROUNDS = 15
TUNING_ROUNDS = 3


@triton.jit(do_not_specialize=["pieces"])
def scatter_kernel(terms, weights, docs, impacts, offsets, scores, pieces, Q, DOCS, BLOCK: tl.constexpr):
    entry = tl.program_id(0) // pieces
    piece = tl.program_id(0) % pieces
    term = tl.load(terms + entry)
    weight = tl.load(weights + entry)
    first = tl.load(offsets + term)
    last = tl.load(offsets + term + 1)
    row = scores + (entry // Q).to(tl.int64) * DOCS
    for p in range(first + piece * BLOCK, last, pieces * BLOCK):
        at = p + tl.arange(0, BLOCK)
        inside = at < last
        doc = tl.load(docs + at, mask=inside, other=0)
        impact = tl.load(impacts + at, mask=inside, other=0.0)
        tl.atomic_add(row + doc, weight * impact, mask=inside, sem="relaxed")


def problem_text(stage):
    ordered = stage.startswith("ordered")
    stage = stage.removeprefix("ordered").strip()
    text = "problem sparse_retrieval\n" + ("" if ordered else "order any\n")
    text += "dim " + ", ".join(f"{name} = {size}" for name, size in SIZES.items()) + "\n"
    text += "in terms : i32[B, Q] ~ zipf(1, TERMS)\nin weights : f32[B, Q] ~ uniform(0, 2)\n"
    text += "param docs : i32[POSTINGS] ~ index(DOCS)\nparam impacts : f32[POSTINGS] ~ uniform(0, 3)\n"
    text += "param offsets : i32[TERMS + 1] ~ offsets(POSTINGS)\nout scores : f32[B, DOCS]\n"
    text += "scores = ragged_scatter(docs, impacts, offsets, terms, weights, DOCS)\n"
    if stage not in ("", "default"):
        text += f"\nkernel for sparse_retrieval on sm_90a\nstage scores : {stage}\n"
    return text


def draw():
    b, q, n_terms, postings, n_docs = SIZES.values()
    rank = torch.exp(torch.rand((b, q), device="cuda", dtype=torch.float64) * math.log(n_terms + 1)) - 1
    ends = torch.log1p(torch.arange(n_terms + 1, dtype=torch.float64) / 10) / math.log1p(n_terms / 10)
    return {
        "terms": rank.clamp(0, n_terms - 1).int(),
        "weights": torch.rand((b, q), device="cuda") * 2,
        "docs": torch.randint(0, n_docs, (postings,), device="cuda", dtype=torch.int32),
        "impacts": torch.rand(postings, device="cuda") * 3,
        "offsets": (ends * postings).int().cuda(),
    }


def error_of(scores, data):
    """The largest error of any score against float64, of as much as the score."""
    offsets, worst = data["offsets"].tolist(), []
    for b, terms in enumerate(data["terms"].tolist()):
        truth = torch.zeros(SIZES["DOCS"], device="cuda", dtype=torch.float64)
        for q, t in enumerate(terms):
            part = slice(offsets[t], offsets[t + 1])
            truth.index_add_(0, data["docs"][part], data["impacts"][part].double() * data["weights"][b, q].double())
        worst.append(((scores[b].double() - truth).abs() / (truth.abs() + 1e-3)).max())
    return torch.stack(worst).max().item()  # NaN, where a score is none


def time_ms(call, cold):
    cold.fill_(1.0)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


def tune(data, scores, cold):
    """The fastest configuration, and all of their times."""
    times = {}
    for block, pieces, warps in itertools.product((256, 512, 1024, 2048), (1, 2, 4, 16), (2, 4, 8)):

        def call(block=block, pieces=pieces, warps=warps):
            scores.zero_()
            grid = (SIZES["B"] * SIZES["Q"] * pieces,)
            scatter_kernel[grid](
                *data.values(), scores, pieces, SIZES["Q"], SIZES["DOCS"], BLOCK=block, num_warps=warps
            )

        call()
        torch.cuda.synchronize()
        times[block, pieces, warps] = (statistics.median(time_ms(call, cold) for _ in range(TUNING_ROUNDS)), call)
    best = min(times, key=lambda k: times[k][0])
    return best, times[best][1], len(times)


def main():
    torch.manual_seed(1)
    data = draw()
    shape = (SIZES["B"], SIZES["DOCS"])
    scores, peer = (torch.full(shape, float("nan"), device="cuda") for _ in range(2))
    cold = torch.empty(64 << 20, device="cuda")
    best, theirs, tried = tune(data, peer, cold)
    theirs()
    print(f"Triton: best of {tried} configurations (block, pieces, warps) {best}, error {error_of(peer, data):.1e}", flush=True)
    for stage in sys.argv[2:] or ["default"]:
        kernel = Kernel(sys.argv[1], problem_text(stage), SIZES)
        scores.fill_(float("nan"))
        ours = lambda: kernel.launch({**data, "scores": scores})
        ours()
        error = error_of(scores, data)
        first = scores.clone()
        times = ([], [])
        for _ in range(ROUNDS):
            for which in (0, 1, 1, 0):
                times[which].append(time_ms((ours, theirs)[which], cold))
        us, them = (statistics.median(v) for v in times)
        same = "same bits at every call" if torch.equal(first, scores) else "other bits at another call"
        print(f"{stage}: {us:.4f} ms, Triton {them:.4f} ms, {them / us:.2f}x its speed; error {error:.1e}, {same}; {kernel.stage}", flush=True)


main()
