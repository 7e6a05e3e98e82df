"""Structural operations: moving, looking up, scanning, sliding."""

import numpy as np
import torch
import torch.nn.functional as F

cases = []


def case(name, text, function):
    cases.append((name, text, function))


# ---- moving

case("slices", """
in x : f32[5, 7, 3]
out a : f32[2, 7, 3]
out b : f32[5, 2, 3]
out c : f32[5, 3]
out d : f32[1, 5, 4, 1]
out e : f32[3, 7, 3]
out f : f32[5, 7, 3]
a = x[1:3]
b = x[:, -2:, :]
c = x[:, 3]
d = x[None, :, 6:2:-1, 2:3]
e = x[::2]
f = x[::-1, :, ::-1]
""",
     lambda x: (x[1:3], x[:, -2:, :], x[:, 3], torch.flip(x, [1])[None, :, 0:4, 2:3], x[::2], torch.flip(x, [0, 2])))

case("reshapes", """
dim M = 6, N = 4
in x : f32[M, N]
out a : f32[N, M]
out b : f32[2, 3, 4]
out c : f32[24]
out d : f32[M, 2, 2]
a = reshape(x, (N, M))
b = reshape(x, (2, -1, 4))
c = reshape(x * 2, -1)
d = reshape(x, (M, N / 2, 2))
""", lambda x: (x.reshape(4, 6), x.reshape(2, 3, 4), (x * 2).reshape(-1), x.reshape(6, 2, 2)))

case("transposes", """
in x : f32[2, 3, 4, 5]
out a : f32[5, 4, 3, 2]
out b : f32[2, 4, 3, 5]
out c : f32[4, 5, 2, 3]
a = transpose(x)
b = transpose(x, (0, 2, 1, 3))
c = transpose(x, axes=(-2, -1, 0, 1))
""", lambda x: (x.permute(3, 2, 1, 0), x.permute(0, 2, 1, 3), x.permute(2, 3, 0, 1)))

case("joins", """
in x : f32[2, 3]
in y : f32[4, 3]
in z : f32[2, 3]
out a : f32[8, 3]
out b : f32[2, 9]
out c : f32[2, 2, 3]
out d : f32[2, 3, 3]
out e : f32[10, 3]
a = concat(x, y, z)
b = concat(x, z, x, axis=1)
c = stack(x, z)
d = stack(x, z, x, axis=-1)
e = concat(x, z, y, x, axis=0)
""", lambda x, y, z: (torch.cat([x, y, z]), torch.cat([x, z, x], 1), torch.stack([x, z]),
                      torch.stack([x, z, x], -1), torch.cat([x, z, y, x])))

case("pads", """
in x : f32[2, 3]
out a : f32[4, 5]
out b : f32[2, 6]
out c : f32[3, 5]
a = pad(x, 1)
b = pad(x, ((0, 0), (1, 2)), value=-2.5)
c = pad(x, ((0, 1), (2, 0)), -inf)
""", lambda x: (F.pad(x, (1, 1, 1, 1)), F.pad(x, (1, 2, 0, 0), value=-2.5),
                F.pad(x, (2, 0, 0, 1), value=-float("inf"))))

case("repeats", """
in x : f32[2, 3]
in v : f32[3, 1]
out a : f32[2, 3]
out b : f32[2, 3]
out c : f32[4, 3]
out d : f32[2, 6]
out e : f32[4, 9]
out f : f32[2, 3, 5]
a = flip(x)
b = flip(x, axis=1)
c = repeat(x, 2, axis=0)
d = repeat(x, 2)
e = tile(x, (2, 3))
f = broadcast_to(v, (2, 3, 5))
""", lambda x, v: (x.flip(0, 1), x.flip(1), x.repeat_interleave(2, 0), x.repeat_interleave(2, 1),
                   x.repeat(2, 3), v.expand(2, 3, 5)))

case("triangles", """
in x : f32[2, 4, 6]
out a : f32[2, 4, 6]
out b : f32[2, 4, 6]
out c : f32[2, 4, 6]
out d : f32[2, 4, 6]
out e : i64[6]
a = triu(x)
b = tril(x)
c = triu(x, k=-1)
d = tril(x, 2)
e = arange(6)
""", lambda x: (x.triu(), x.tril(), x.triu(-1), x.tril(2), torch.arange(6)))

# ---- contractions

for name, spec, shapes in [
    ("einsum_gemm", "ij,jk->ik", "3,4 4,5"),
    ("einsum_batch", "bij,bjk->bik", "2,3,4 2,4,5"),
    ("einsum_turned", "bij,bkj->bki", "2,3,4 2,5,4"),
    ("einsum_outer", "i,j->ij", "3 4"),
    ("einsum_dot", "i,i->", "5 5"),
    ("einsum_tensor", "bijl,lk->bijk", "2,3,4,5 5,6"),
    ("einsum_two_sums", "bhqd,bkhd->bqk", "2,3,4,5 2,6,3,5"),
    ("einsum_diagonal_free", "ij,ij->i", "3,4 3,4"),
    ("einsum_lonely_sum", "ij,kl->k", "3,4 5,6"),
    ("einsum_chain", "ij,jk,kl->il", "3,4 4,5 5,6"),
    ("einsum_three_batch", "bi,bj,bk->bijk", "2,3 2,4 2,5"),
    ("einsum_trace_free", "ijk->kj", "3,4,5"),
    ("einsum_all", "ijk->", "3,4,5"),
    ("einsum_many_n", "ik,kjl->ijl", "3,4 4,5,2"),
    ("einsum_vector", "ij,j->i", "3,4 4"),
    ("einsum_diagonal", "ii->i", "4,4"),
    ("einsum_trace", "ii->", "4,4"),
    ("einsum_diagonals", "ibi->bi", "4,3,4"),
    ("einsum_two_diagonals", "ijij->ji", "3,2,3,2"),
    ("einsum_diagonal_of_three", "iii->i", "3,3,3"),
    ("einsum_diagonal_times", "bii,ij->bj", "2,3,3 3,4"),
    ("einsum_diagonal_of_one", "ii->i", "1,1"),
]:
    sizes = [s.split(",") for s in shapes.split(" ")]
    letters = dict(zip(spec.split("->")[0].replace(",", ""), sum(sizes, [])))
    names = "xyz"[: len(sizes)]
    result = spec.split("->")[1]
    out = "[" + ", ".join(letters[c] for c in result) + "]" if result else ""
    text = "".join(f"in {n} : f32[{', '.join(s)}]\n" for n, s in zip(names, sizes))
    text += f"out o : f32{out}\no = einsum(\"{spec}\", {', '.join(names)})\n"
    args = {1: lambda s: lambda x: torch.einsum(s, x), 2: lambda s: lambda x, y: torch.einsum(s, x, y),
            3: lambda s: lambda x, y, z: torch.einsum(s, x, y, z)}
    case(name, text, args[len(sizes)](spec))

case("matmul_batches", """
in x : f32[2, 1, 3, 4]
in y : f32[5, 4, 6]
in z : f32[4, 2]
out a : f32[2, 5, 3, 6]
out b : f32[2, 1, 3, 2]
a = x @ y
b = x @ z
""", lambda x, y, z: (x @ y, x @ z))

case("int8_gemm", """
in x : i8[5, 16] ~ integers(-128, 127)
in w : i8[7, 16] ~ integers(-128, 127)
out y : i32[5, 7]
y = x @ w.T
""", lambda x, w: x @ w.T)

case("quantised", """
in x : f32[5, 16]
in w : i8[7, 16] ~ integers(-127, 127)
in p : i4[7, 16] ~ integers(-8, 7)
in s : f32[7] ~ uniform(0.5, 1)
in g : f32[7, 4] ~ uniform(0.5, 1)
out a : f32[5, 7]
out b : f32[5, 7]
a = qmatmul(x, w, s)
b = qmatmul(x, p, g, group=4)
""", lambda x, w, p, s, g: (x @ (w * s[:, None]).T, x @ (p * g.repeat_interleave(4, 1)).T))

# ---- looking up and scattering

case("takes", """
in x : f32[5, 4, 3]
in i : i32[6] ~ index(4)
in j : i64[2, 2] ~ index(5)
in k : i64[5, 2, 3] ~ index(4)
out a : f32[5, 6, 3]
out b : f32[2, 2, 4, 3]
out c : f32[5, 2, 3]
out d : f32[6, 4]
a = take(x, i, axis=1)
b = take(x, j)
c = take_along_axis(x, k, axis=1)
d = take(x[0, :, 0:1], i)[:, 0][:, None] + take(x[1], i, axis=0)[:, 0][:, None] * one_hot(i, 4)
""", lambda x, i, j, k: (x[:, i], x[j], torch.gather(x, 1, k),
                         x[0, i, 0:1] + x[1][i][:, 0:1] * F.one_hot(i, 4)))

case("embeddings", """
in t : f32[9, 4]
in i : i64[3, 5] ~ index(9)
out y : f32[3, 5, 4]
y = embedding(t, i)
""", lambda t, i: F.embedding(i, t))

case("scatters", """
in base : f32[4, 3]
in i : i64[6, 3] ~ index(4)
in src : f32[6, 3]
in j : i32[5] ~ index(3)
in wide : f32[4, 5]
out a : f32[4, 3]
out b : f32[4, 3]
a = scatter_add(base, i, src)
b = index_add(base, j, wide, axis=1)
""", lambda base, i, src, j, wide: (base.scatter_add(0, i, src), base.index_add(1, j, wide)))


def postings(docs, weights, offsets, lists, factors):
    scores = torch.zeros(lists.shape[0], 20, dtype=torch.float64)
    for b in range(lists.shape[0]):
        for q in range(lists.shape[1]):
            begin, end = offsets[lists[b, q]], offsets[lists[b, q] + 1]
            scores[b].index_add_(0, docs[begin:end], weights[begin:end] * factors[b, q])
    return scores


case("posting_lists", """
in docs : i32[40] ~ index(20)
in weights : f32[40]
in offsets : i32[9] ~ offsets(40)
in lists : i32[2, 3] ~ index(8)
in factors : f32[2, 3]
out y : f32[2, 20]
y = ragged_scatter(docs, weights, offsets, lists, factors, 20)
""", postings)


def grouped(x, w, offsets):
    y = torch.zeros(x.shape[0], w.shape[2], dtype=torch.float64)
    for e in range(w.shape[0]):
        rows = slice(offsets[e], offsets[e + 1])
        y[rows] = x[rows] @ w[e]
    return y


case("experts", """
in x : f32[12, 5]
in w : f32[4, 5, 6]
in offsets : i32[5] ~ offsets(12)
out y : f32[12, 6]
y = ragged_matmul(x, w, offsets)
""", grouped)

case("expert_gradients", """
in x : f32[12, 5]
in g : f32[12, 6]
in offsets : i64[5] ~ offsets(12)
out y : f32[4, 5, 6]
y = ragged_outer(x, g, offsets)
""", lambda x, g, offsets: torch.stack(
    [x[offsets[e]:offsets[e + 1]].T @ g[offsets[e]:offsets[e + 1]] for e in range(4)]))

# ---- scans and order

case("scans", """
in x : f32[3, 2500]
in y : f32[4, 5, 2] ~ uniform(0.5, 1.5)
out a : f32[3, 2500]
out b : f32[3, 2500]
out c : f32[3, 2500]
out d : f32[3, 2500]
out e : f32[4, 5, 2]
out f : f32[4, 5, 2]
out g : f32[3, 2500]
a = cumsum(x)
b = cumsum(x, axis=0)
c = cumsum(x, axis=1, reverse=true)
d = cumsum(x, axis=1, exclusive=true)
e = cumprod(y, axis=1)
f = cumprod(y, axis=0, reverse=true, exclusive=true)
g = cumsum(x * where(x > 0, 1, 0), axis=1)
""", lambda x, y: (
    x.cumsum(1), x.cumsum(0), x.flip(1).cumsum(1).flip(1), x.cumsum(1) - x, y.cumprod(1),
    torch.cat([y, torch.ones(1, 5, 2, dtype=torch.float64)])[1:].flip(0).cumprod(0).flip(0),
    (x * (x > 0)).cumsum(1)))

case("orders", """
in x : f32[3, 40]
out a : f32[3, 5]
out b : i64[3, 5]
out c : f32[3, 40]
out d : f32[2, 40]
out e : f32[3, 40]
a = topk(x, 5)
b = topk_index(x, 5)
c = sort(x)
d = topk(x, 2, axis=0, largest=false)
e = sort(x, axis=1, descending=true)
""", lambda x: (torch.topk(x, 5)[0], torch.topk(x, 5)[1], torch.sort(x)[0],
                torch.topk(x, 2, dim=0, largest=False)[0], torch.sort(x, descending=True)[0]))

# ---- windows

for n, spatial, kernel in [(1, (11,), (3,)), (2, (9, 8), (3, 2)), (3, (5, 6, 7), (2, 3, 3))]:
    conv = [F.conv1d, F.conv2d, F.conv3d][n - 1]
    turned = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][n - 1]
    size = ", ".join(map(str, spatial))
    k = ", ".join(map(str, kernel))
    options = [
        ("plain", dict()),
        ("strided", dict(stride=2, padding=1)),
        ("dilated", dict(dilation=2, padding=2)),
        ("grouped", dict(groups=2)),
        ("all", dict(stride=2, padding=2, dilation=2, groups=2)),
    ]
    for word, o in options:
        groups = o.get("groups", 1)
        keywords = "".join(f", {a}={b}" for a, b in o.items())
        shape = list(conv(torch.zeros(2, 4, *spatial), torch.zeros(6, 4 // groups, *kernel), **o).shape)
        case(f"conv{n}d_{word}", f"""
in x : f32[2, 4, {size}]
in w : f32[6, {4 // groups}, {k}]
in b : f32[6]
out y : f32{shape}
out z : f32{shape}
y = conv{n}d(x, w, b{keywords})
z = conv{n}d(x, w{keywords})
""", (lambda o, conv: lambda x, w, b: (conv(x, w, b, **o), conv(x, w, **o)))(o, conv))
    options = [
        ("plain", dict()),
        ("strided", dict(stride=2, padding=1)),
        ("wide", dict(stride=3, output_padding=2)),
        ("dilated", dict(dilation=2, padding=1)),
        ("grouped", dict(groups=2, stride=2)),
        ("all", dict(stride=3, padding=1, output_padding=1, dilation=2, groups=2)),
    ]
    for word, o in options:
        groups = o.get("groups", 1)
        keywords = "".join(f", {a}={b}" for a, b in o.items())
        shape = list(turned(torch.zeros(2, 4, *spatial), torch.zeros(4, 6 // groups, *kernel), **o).shape)
        case(f"conv_transpose{n}d_{word}", f"""
in x : f32[2, 4, {size}]
in w : f32[4, {6 // groups}, {k}]
in b : f32[6]
out y : f32{shape}
y = conv_transpose{n}d(x, w, b{keywords})
""", (lambda o, turned: lambda x, w, b: turned(x, w, b, **o))(o, turned))
    maxp = [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1]
    avgp = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1]
    pools = [
        ("max", maxp, dict()),
        ("max", maxp, dict(stride=1, padding=1)),
        ("max", maxp, dict(stride=2, padding=1, dilation=2)),
        ("max", maxp, dict(stride=2, ceil_mode=True)),
        ("avg", avgp, dict()),
        ("avg", avgp, dict(stride=2, padding=1)),
        ("avg", avgp, dict(stride=2, padding=1, count_include_pad=False)),
        ("avg", avgp, dict(stride=2, padding=1, ceil_mode=True)),
        ("avg", avgp, dict(stride=2, padding=1, ceil_mode=True, count_include_pad=False)),
    ]
    for i, (word, pool, o) in enumerate(pools):
        keywords = "".join(f", {a}={str(b).lower()}" for a, b in o.items())
        shape = list(pool(torch.zeros(2, 4, *spatial), kernel_size=3, **o).shape)
        case(f"{word}_pool{n}d_{i}", f"""
in x : f32[2, 4, {size}]
out y : f32{shape}
y = {word}_pool{n}d(x, 3{keywords})
""", (lambda o, pool: lambda x: pool(x, kernel_size=3, **o))(o, pool))

case("conv_same", """
in x : f32[2, 3, 8, 9]
in w : f32[5, 3, 4, 3]
out y : f32[2, 5, 8, 9]
out z : f32[2, 5, 5, 7]
y = conv2d(x, w, padding="same")
z = conv2d(x, w, padding="valid")
""", lambda x, w: (F.conv2d(x, w, padding="same"), F.conv2d(x, w, padding="valid")))

case("conv_pairs", """
in x : f32[1, 3, 12, 9]
in w : f32[5, 3, 3, 3]
out y : f32[1, 5, 6, 3]
y = conv2d(x, w, stride=(2, 3), padding=(1, 0))
""", lambda x, w: F.conv2d(x, w, stride=(2, 3), padding=(1, 0)))

case("depthwise", """
in x : f32[2, 6, 10, 10]
in w : f32[6, 1, 3, 3]
out y : f32[2, 6, 8, 8]
y = conv2d(x, w, groups=6)
""", lambda x, w: F.conv2d(x, w, groups=6))

case("conv_long", """
in x : f32[1, 2, 5000]
in w : f32[3, 2, 7]
out y : f32[1, 3, 4994]
y = conv1d(x, w)
""", lambda x, w: F.conv1d(x, w))

case("adaptive", """
in x : f32[2, 3, 12, 8]
out y : f32[2, 3, 3, 4]
out z : f32[2, 3, 1, 1]
y = adaptive_avg_pool2d(x, (3, 4))
z = adaptive_avg_pool2d(x, 1)
""", lambda x: (F.adaptive_avg_pool2d(x, (3, 4)), F.adaptive_avg_pool2d(x, 1)))
