"""Reductions, running sums, sorting and products of matrices."""

import collections

import torch

from import_graph import ATOM, MULTIPLY, Full, Node, Refusal, broadcast, call, cast, is_float, natural_type, number, reshape, sizes, spread
from import_moves import axis_of, count_of, index, transpose
from import_pointwise import arithmetic, by_element, node, scalar, spread_out
from import_trace import known, op

Pair = collections.namedtuple("Pair", "values indices")


def whole(x):
    """A constant written out, since a reduction is of elements."""
    return spread_out(x, x.shape) if isinstance(x, Full) else x


def reduced(x, dim, keepdim):
    """Axes, and the shape without them."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        axes = list(range(len(x.shape)))
    else:
        axes = sorted({axis_of(x, d) for d in (dim if isinstance(dim, (tuple, list)) else [dim])})
    if keepdim:
        return axes, [1 if i in axes else s for i, s in enumerate(x.shape)]
    return axes, [s for i, s in enumerate(x.shape) if i not in axes]


def reduce(name, x, dim=None, keepdim=False, dtype=None, natural=None, **words):
    x = whole(x)
    if x.shape == ():
        x = reshape(x, (1,))
        dim = None
        keepdim = False
    axes, shape = reduced(x, dim, keepdim)
    if axes != list(range(len(x.shape))) or keepdim:
        words["axis"] = str(axes[0]) if len(axes) == 1 else sizes(axes)
    if keepdim:
        words["keepdims"] = "true"
    return call(name, [x], shape, dtype or x.dtype, natural or natural_type([x.dtype]), **words)


def dims_of(args, dim, keepdim, kwargs):
    if args:
        dim = args[0] if len(args) == 1 or not isinstance(args[0], int) or isinstance(args[1], bool) else args
        if len(args) > 1 and isinstance(args[1], bool):
            keepdim = args[1]
    return kwargs.get("axis", dim), kwargs.get("keepdims", keepdim)


def counted(x):
    """What a sum is taken of: PyTorch adds up whole numbers and truth values as int64."""
    return x if is_float(x.dtype) else cast(x, torch.int64)


@op("sum", "nansum")
def sum_(tr, input, *args, dim=None, keepdim=False, dtype=None, **kwargs):
    x = counted(cast(node(input), dtype) if dtype else node(input))
    return reduce("sum", x, *dims_of(args, dim, keepdim, kwargs), x.dtype)


@op("prod")
def prod(tr, input, *args, dim=None, keepdim=False, dtype=None, **kwargs):
    x = counted(cast(node(input), dtype) if dtype else node(input))
    return reduce("prod", x, *dims_of(args, dim, keepdim, kwargs), x.dtype)


@op("mean", "nanmean")
def mean(tr, input, *args, dim=None, keepdim=False, dtype=None, **kwargs):
    x = cast(node(input), dtype) if dtype else node(input)
    if not is_float(x.dtype):
        raise RuntimeError("mean(): the input must be of floats")
    return reduce("mean", x, *dims_of(args, dim, keepdim, kwargs), x.dtype)


def spread_options(args, dim, unbiased, correction, keepdim):
    args = list(args)
    if args and isinstance(args[0], bool):
        unbiased = args.pop(0)
    elif args:
        dim = args.pop(0)
    if args and isinstance(args[0], bool):
        unbiased = args.pop(0)
    if args:
        keepdim = args.pop(0)
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    return dim, correction, keepdim


@op("var", "std")
def var(tr, input, *args, dim=None, unbiased=None, correction=None, keepdim=False, name="var", **kwargs):
    dim, correction, keepdim = spread_options(args, dim, unbiased, correction, keepdim)
    return reduce(name, node(input), dim, keepdim, correction=correction)


op("std")(lambda tr, input, *args, **kwargs: var(tr, input, *args, name="std", **kwargs))


@op("var_mean")
def var_mean(tr, input, *args, dim=None, unbiased=None, correction=None, keepdim=False):
    dim, correction, keepdim = spread_options(args, dim, unbiased, correction, keepdim)
    return reduce("var", node(input), dim, keepdim, correction=correction), reduce("mean", node(input), dim, keepdim)


@op("std_mean")
def std_mean(tr, input, *args, **kwargs):
    v, m = var_mean(tr, input, *args, **kwargs)
    return by_element("sqrt({0})", ATOM, [v], v.dtype), m


def place(name, x, dim, keepdim):
    """argmax and argmin, which PyTorch takes over all elements or along one axis."""
    return reduce(name, x, dim, keepdim, torch.int64, torch.int64)


@op("argmax")
def argmax(tr, input, dim=None, keepdim=False):
    return place("argmax", node(input), dim, keepdim)


@op("argmin")
def argmin(tr, input, dim=None, keepdim=False):
    return place("argmin", node(input), dim, keepdim)


def extreme(name, two):
    def function(tr, input, dim=None, keepdim=False, other=None):
        x = node(input)
        if other is not None or isinstance(dim, torch.Tensor):
            a, b = node(input), node(other if other is not None else dim)
            from import_pointwise import result_type

            return by_element(two + "({0}, {1})", ATOM, [scalar(a), scalar(b)], result_type(a, b))
        if dim is None:
            return reduce(name, x)
        return Pair(reduce(name, x, dim, keepdim, x.dtype, x.dtype), place("arg" + name, x, dim, keepdim))

    op(name)(function)


extreme("max", "maximum")
extreme("min", "minimum")


@op("amax")
def amax(tr, input, dim=None, keepdim=False):
    return reduce("max", node(input), dim, keepdim)


@op("amin")
def amin(tr, input, dim=None, keepdim=False):
    return reduce("min", node(input), dim, keepdim)


@op("aminmax")
def aminmax(tr, input, *, dim=None, keepdim=False):
    return reduce("min", node(input), dim, keepdim), reduce("max", node(input), dim, keepdim)


@op("any")
def any_(tr, input, dim=None, keepdim=False):
    return reduce("any", cast(node(input), torch.bool), dim, keepdim, torch.bool, torch.bool)


@op("all")
def all_(tr, input, dim=None, keepdim=False):
    return reduce("all", cast(node(input), torch.bool), dim, keepdim, torch.bool, torch.bool)


@op("count_nonzero")
def count_nonzero(tr, input, dim=None):
    return reduce("sum", cast(cast(node(input), torch.bool), torch.int64), dim)


@op("logsumexp", "special_logsumexp")
def logsumexp(tr, input, dim, keepdim=False):
    return reduce("logsumexp", node(input), dim, keepdim)


@op("norm", "vector_norm", "linalg_vector_norm", "linalg_norm", "matrix_norm", "frobenius_norm")
def norm(tr, input, p=None, dim=None, keepdim=False, dtype=None, ord=None, **kwargs):
    p = ord if ord is not None else p
    if p in (None, "fro", 2, 2.0):
        return reduce("norm", node(input), dim, keepdim)
    if isinstance(p, str):
        raise Refusal(f"the norm '{p}'")
    if p == 1:
        return reduce("norm1", node(input), dim, keepdim)
    if p == float("inf"):
        return reduce("norm_inf", node(input), dim, keepdim)
    if p == 0:
        x = node(input)
        return reduce("sum", cast(by_element("{0:2} != 0", 1, [x], torch.bool, torch.bool), x.dtype), dim, keepdim)
    if p < 0:
        raise Refusal(f"a norm of order {p}")
    return reduce("norm_p", node(input), dim, keepdim, p=p)


@op("dist")
def dist(tr, input, other, p=2):
    return norm(tr, arithmetic("{0:2} - {1:3}", 2, input, other), p)


# ---- along an axis


def along(name, x, dim, dtype=None, **words):
    x = whole(cast(x, dtype) if dtype else x)
    return call(name, [x], x.shape, x.dtype, natural_type([x.dtype]), axis=axis_of(x, dim), **words)


op("cumsum")(lambda tr, input, dim, *, dtype=None, **kwargs: along("cumsum", counted(node(input)), dim, dtype))
op("cumprod")(lambda tr, input, dim, *, dtype=None, **kwargs: along("cumprod", counted(node(input)), dim, dtype))


def soft(name, x, dim, dtype):
    x = cast(node(x), dtype) if dtype else node(x)
    if dim is None:
        dim = 0 if len(x.shape) in (0, 1, 3) else 1
    return along(name, x, dim)


for names, name in {("softmax", "_softmax", "special_softmax"): "softmax", ("softmin",): "softmin",
                    ("log_softmax", "special_log_softmax"): "log_softmax"}.items():  # fmt: skip
    op(*names)(lambda tr, input, dim=None, _stacklevel=3, dtype=None, name=name: soft(name, input, dim, dtype))


@op("topk")
def topk(tr, input, k, dim=-1, largest=True, sorted=True):
    x = node(input)
    shape = list(x.shape)
    shape[axis_of(x, dim)] = k
    words = {"axis": axis_of(x, dim), **({} if largest else {"largest": "false"})}
    return Pair(call("topk", [x, str(k)], shape, x.dtype, **words), call("topk_index", [x, str(k)], shape, torch.int64, **words))


@op("sort", "msort")
def sort(tr, input, dim=-1, descending=False, stable=False):
    x = node(input)
    d = axis_of(x, dim)
    words = {"axis": d, **({"descending": "true"} if descending else {})}
    return Pair(call("sort", [x], x.shape, x.dtype, **words), argsort(tr, input, dim, descending))


@op("argsort")
def argsort(tr, input, dim=-1, descending=False, stable=False):
    x = node(input)
    d = axis_of(x, dim)
    return call("topk_index", [x, str(x.shape[d])], x.shape, torch.int64, axis=d, largest="true" if descending else "false")


# ---- products


def product(a, b, dtype):
    """Both with at least two axes."""
    shape = list(broadcast(a.shape[:-2], b.shape[:-2])) + [a.shape[-2], b.shape[-1]]
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"matrices of shapes {a.shape} and {b.shape} cannot be multiplied")
    return Node("{0:3} @ {1:4}", [whole(a), whole(b)], shape, dtype, natural_type([a.dtype, b.dtype]), MULTIPLY)


@op("matmul", "mm", "bmm", "__matmul__", "mv", "dot", "inner_", "vdot", "chain_matmul_")
def matmul(tr, input, other):
    a, b = node(input), node(other)
    dtype = torch.promote_types(a.dtype, b.dtype)
    if len(a.shape) == 1 and len(b.shape) == 1:
        x = by_element("{0:3} * {1:4}", MULTIPLY, [a, b], dtype)
        return reduce("sum", x)
    if len(b.shape) == 1:
        y = product(a, reshape(b, (b.shape[0], 1)), dtype)
        return index(y, [slice(None)] * (len(y.shape) - 1) + [0])
    if len(a.shape) == 1:
        y = product(reshape(a, (1, a.shape[0])), b, dtype)
        return index(y, [slice(None)] * (len(y.shape) - 2) + [0, slice(None)])
    return product(a, b, dtype)


@op("__rmatmul__")
def rmatmul(tr, input, other):
    return matmul(tr, other, input)


def plus_product(tr, input, a, b, beta, alpha):
    y = matmul(tr, a, b)
    if alpha != 1:
        y = by_element("{0:3} * {1:4}", MULTIPLY, [y, alpha], y.dtype)
    if beta == 0:
        return y
    x = node(input)
    if beta != 1:
        x = by_element("{0:3} * {1:4}", MULTIPLY, [x, beta], x.dtype)
    return arithmetic("{0:2} + {1:3}", 2, y, x)


@op("addmm", "baddbmm", "addmv")
def addmm(tr, input, mat1, mat2, *, beta=1, alpha=1):
    return plus_product(tr, input, mat1, mat2, beta, alpha)


@op("addbmm")
def addbmm(tr, input, batch1, batch2, *, beta=1, alpha=1):
    y = reduce("sum", matmul(tr, batch1, batch2), 0)
    return plus_product_of(node(input), y, beta, alpha)


def plus_product_of(x, y, beta, alpha):
    y = y if alpha == 1 else by_element("{0:3} * {1:4}", MULTIPLY, [y, alpha], y.dtype)
    x = x if beta == 1 else by_element("{0:3} * {1:4}", MULTIPLY, [x, beta], x.dtype)
    return arithmetic("{0:2} + {1:3}", 2, y, x)


@op("outer", "ger")
def outer(tr, input, vec2):
    a, b = node(input), node(vec2)
    dtype = torch.promote_types(a.dtype, b.dtype)
    return by_element("{0:3} * {1:4}", MULTIPLY, [reshape(a, (a.shape[0], 1)), reshape(b, (1, b.shape[0]))], dtype)


@op("linear")
def linear(tr, input, weight, bias=None):
    x, w, b = node(input), node(weight), node(bias) if bias is not None else None
    dtype = torch.promote_types(x.dtype, w.dtype)
    if len(x.shape) == 1:
        y = linear(tr, reshape(x, (1, x.shape[0])), weight, bias)
        return index(y, [0, slice(None)])
    if len(w.shape) == 1:
        return matmul(tr, x, w)
    if x.shape[-1] != w.shape[1]:
        raise RuntimeError(f"linear: {x.shape} by a weight of {w.shape}")
    return call("linear", [whole(v) for v in (x, w, b) if v is not None], list(x.shape[:-1]) + [w.shape[0]], dtype, natural_type([x.dtype, w.dtype]))


@op("bilinear")
def bilinear(tr, input1, input2, weight, bias=None):
    a, b, w = node(input1), node(input2), node(weight)
    y = einsum(tr, "...i,oij,...j->...o", a, w, b)
    return y if bias is None else arithmetic("{0:2} + {1:3}", 2, y, node(bias))


@op("einsum")
def einsum(tr, equation, *operands):
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = operands[0]
    xs = [whole(node(o)) for o in operands]
    inputs, result = split_equation(equation.replace(" ", ""), xs)
    of = {}
    for letters, x in zip(inputs, xs):
        if len(letters) != len(x.shape):
            raise RuntimeError(f"einsum: '{letters}' for a tensor of {len(x.shape)} dimensions")
        for letter, size in zip(letters, x.shape):
            if of.get(letter, 1) != 1 and size != 1 and of[letter] != size:
                raise RuntimeError(f"einsum: sizes {of[letter]} and {size} for '{letter}'")
            of[letter] = max(of.get(letter, 1), size)
    dtype = xs[0].dtype
    for x in xs:
        dtype = torch.promote_types(dtype, x.dtype)
    text = '"' + ",".join(inputs) + "->" + result + '"'
    return call("einsum", [text] + xs, [of[letter] for letter in result], dtype, natural_type([x.dtype for x in xs]))


def split_equation(equation, xs):
    """Letters of each operand and of the result, without '...'."""
    left, arrow, result = equation.partition("->")
    inputs = left.split(",")
    used = set(equation) - set(",->.")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in used]
    longest = max((len(x.shape) - len(i.replace("...", "")) for i, x in zip(inputs, xs) if "..." in i), default=0)
    names = "".join(free[:longest])
    if not arrow:
        letters = sorted(c for c in used if left.count(c) == 1)
        result = ("..." if longest else "") + "".join(letters)
    expanded = []
    for i, x in zip(inputs, xs):
        n = len(x.shape) - len(i.replace("...", ""))
        expanded.append(i.replace("...", names[longest - n :] if n else ""))
    return lower_case(expanded, result.replace("...", names))


def lower_case(inputs, result):
    """The language takes small letters; others become free ones."""
    used = {c for c in "".join(inputs) + result if c.islower()}
    free = iter(c for c in "abcdefghijklmnopqrstuvwxyz" if c not in used)
    to = {}
    for c in "".join(inputs):
        if c not in to:
            to[c] = c if c.islower() else next(free)
    return ["".join(to[c] for c in i) for i in inputs], "".join(to[c] for c in result)


@op("tensordot")
def tensordot(tr, a, b, dims=2, **kwargs):
    x, y = node(a), node(b)
    if isinstance(dims, int):
        dims = list(range(len(x.shape) - dims, len(x.shape))), list(range(dims))
    p, q = [[axis_of(v, d) for d in (ds if isinstance(ds, (tuple, list)) else [ds])] for v, ds in zip((x, y), dims)]
    rest_x = [i for i in range(len(x.shape)) if i not in p]
    rest_y = [i for i in range(len(y.shape)) if i not in q]
    inner = count_of([x.shape[i] for i in p])
    left = reshape(transpose(x, rest_x + p), (-1 if False else count_of([x.shape[i] for i in rest_x]), inner))
    right = reshape(transpose(y, q + rest_y), (inner, count_of([y.shape[i] for i in rest_y])))
    return reshape(product(left, right, torch.promote_types(x.dtype, y.dtype)), [x.shape[i] for i in rest_x] + [y.shape[i] for i in rest_y])


@op("cosine_similarity")
def cosine_similarity(tr, x1, x2, dim=1, eps=1e-8):
    a, b = node(x1), node(x2)
    shape = broadcast(a.shape, b.shape)
    a, b = spread(a, shape), spread(b, shape)
    d = axis_of(a, dim)
    return call("cosine_similarity", [a, b], shape[:d] + shape[d + 1 :], a.dtype, natural_type([a.dtype]), axis=d, **({"eps": eps} if eps != 1e-8 else {}))


@op("pairwise_distance")
def pairwise_distance(tr, x1, x2, p=2.0, eps=1e-6, keepdim=False):
    gap = arithmetic("{0:2} - {1:3}", 2, x1, x2)
    return norm(tr, by_element("{0:2} + {1:3}", 2, [gap, eps], gap.dtype), p, -1, keepdim)


@op("cdist")
def cdist(tr, x1, x2, p=2.0, compute_mode=None):
    a, b = node(x1), node(x2)
    a = reshape(a, a.shape[:-1] + (1, a.shape[-1]))
    b = reshape(b, b.shape[:-2] + (1,) + b.shape[-2:])
    return norm(tr, arithmetic("{0:2} - {1:3}", 2, a, b), p, -1)


@op("normalize")
def normalize(tr, input, p=2.0, dim=1, eps=1e-12, out=None):
    x = node(input)
    if p == 2 and isinstance(dim, int):
        return call("l2_normalize", [x], x.shape, x.dtype, natural_type([x.dtype]), axis=axis_of(x, dim), **({"eps": eps} if eps != 1e-12 else {}))
    n = norm(tr, x, p, dim, True)
    return by_element("{0:3} / maximum({1}, {2})", MULTIPLY, [x, n, eps], x.dtype)


__all__ = ["known", "number"]
