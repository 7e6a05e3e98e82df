"""Looking up, scattering, triangles and diagonals: PyTorch's functions of places that data or axes decide."""

import torch

from import_graph import ATOM, Full, Node, Refusal, call, cast, index, reshape, spread, transpose
from import_moves import axis_of, narrow_node, take, wrapped
from import_pointwise import by_element, node, spread_out
from import_trace import Traced, known, op


@op("index_select")
def index_select(tr, input, dim, index):
    x = node(input)
    d = axis_of(x, dim)
    return take(x, wrapped(node(index), known(index), x.shape[d]), d)


@op("gather", "take_along_dim")
def gather(tr, input, dim, index=None, **kwargs):
    if isinstance(dim, Traced):
        dim, index = index, dim
    x, ids = node(input), node(index)
    d = axis_of(x, dim)
    for k in range(len(x.shape)):
        if k != d and ids.shape[k] < x.shape[k]:
            x = narrow_node(x, k, 0, ids.shape[k])
    return call("take_along_axis", [x, ids], ids.shape, x.dtype, axis=d)


@op("scatter_add", "scatter_add_")
def scatter_add(tr, input, dim, index, src):
    x, ids, s = node(input), node(index), node(src)
    x = spread_out(x, x.shape) if isinstance(x, Full) else x
    for k in range(len(s.shape)):
        s = narrow_node(s, k, 0, ids.shape[k])
    return call("scatter_add", [x, ids, s], x.shape, x.dtype, axis=axis_of(x, dim))


@op("index_add", "index_add_")
def index_add(tr, input, dim, index, source, *, alpha=1):
    x, s = node(input), node(source)
    x = spread_out(x, x.shape) if isinstance(x, Full) else x
    if alpha != 1:
        s = by_element("{0:3} * {1:4}", 3, [s, alpha], s.dtype)
    return call("index_add", [x, node(index), s], x.shape, x.dtype, axis=axis_of(x, dim))


@op("embedding")
def embedding(tr, input, weight=None, padding_idx=None, *args, **kwargs):
    # F.embedding(ids, table) and torch.embedding(table, ids) differ in their order.
    ids, table = node(input), node(weight)
    if table.dtype in (torch.int32, torch.int64) and ids.dtype.is_floating_point:
        ids, table = table, ids
    return call("embedding", [table, ids], list(ids.shape) + [table.shape[1]], table.dtype)


@op("one_hot")
def one_hot(tr, tensor, num_classes=-1):
    if num_classes < 0:
        raise Refusal("a number of classes that depends on data; give num_classes")
    x = node(tensor)
    return cast(call("one_hot", [x, str(num_classes)], list(x.shape) + [num_classes], torch.float32), torch.int64)


@op("triu")
def triu(tr, input, diagonal=0):
    return triangle("triu", node(input), diagonal)


@op("tril")
def tril(tr, input, diagonal=0):
    return triangle("tril", node(input), diagonal)


def triangle(name, x, k):
    if x.dtype is torch.bool or isinstance(x, Full):
        r, c = x.shape[-2:]
        sign = "<=" if name == "tril" else ">="
        text = f"arange({c})[None, :] - arange({r})[:, None] {sign} {k}"
        inside = Node(text, [], (r, c), torch.bool, binds=1)
        if isinstance(x, Full):
            if x.dtype is torch.bool and x.value:
                return spread(inside, x.shape)
            return spread(by_element("where({0}, {1}, {2})", ATOM, [inside, x.value, x.value * 0], x.dtype), x.shape)
        return by_element("logical_and({0}, {1})", ATOM, [inside, x], torch.bool, torch.bool)
    return call(name, [x], x.shape, x.dtype, k=k) if k else call(name, [x], x.shape, x.dtype)


@op("diag", "diagonal", "diag_embed")
def diag(tr, input, diagonal=0, **kwargs):
    x = node(input)
    if diagonal or kwargs:
        raise Refusal("a diagonal other than the main one")
    if len(x.shape) == 1:
        n = x.shape[0]
        on = Node(f"arange({n})[:, None] == arange({n})[None, :]", [], (n, n), torch.bool, binds=1)
        return by_element("where({0}, {1}, {2})", ATOM, [on, x, 0], x.dtype)
    if len(x.shape) != 2:
        raise Refusal("diagonals of several matrices")
    n = min(x.shape)
    square = index(x, [slice(0, n), slice(0, n)])
    return call("einsum", ['"ii->i"', square], (n,), x.dtype)


@op("meshgrid")
def meshgrid(tr, *tensors, indexing="ij"):
    parts = [node(t) for t in (tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors)]
    if indexing == "xy" and len(parts) > 1:
        parts[0], parts[1] = parts[1], parts[0]
    shape = [p.shape[0] if p.shape else 1 for p in parts]
    grid = [spread(reshape(p, [-1 if k == i else 1 for k in range(len(parts))] if False else [shape[i] if k == i else 1 for k in range(len(parts))]), shape)
            for i, p in enumerate(parts)]  # fmt: skip
    if indexing == "xy" and len(parts) > 1:
        order = [1, 0, *range(2, len(parts))]
        grid = [transpose(g, order) for g in grid]
        grid[0], grid[1] = grid[1], grid[0]
    return tuple(grid)
