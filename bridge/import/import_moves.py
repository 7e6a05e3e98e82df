"""Views and moves of data, indexing, factories and reductions' places: PyTorch's functions of structure.

What PyTorch calls a view is one here too (import_trace.py): `take` gives the part of the base, `put`
the base with that part replaced.
"""

import torch

from import_graph import ATOM, Full, Node, Refusal, call, cast, concat, index, reshape, sizes, spread, transpose
from import_graph import stack as graph_stack
from import_pointwise import by_element, node, scalar, spread_out
from import_trace import Traced, known, op, value, view, write


def axis_of(x, dim):
    rank = max(len(x.shape), 1)
    dim = int(dim)
    if not -rank <= dim < rank:
        raise IndexError(f"dimension {dim} of a tensor with {len(x.shape)}")
    return dim % rank


def flat_sizes(given):
    """Sizes as PyTorch takes them: (2, 3), [2, 3] or 2, 3."""
    if len(given) == 1 and isinstance(given[0], (tuple, list, torch.Size)):
        given = given[0]
    return [element_size(s) for s in given]


def element_size(s):
    return s if type(s) is not Traced else int(known(s).item())


def resolve(shape, count):
    """-1 among sizes."""
    shape = list(shape)
    if -1 in shape:
        rest = 1
        for s in shape:
            rest *= s if s != -1 else 1
        if rest == 0 or count % rest:
            raise RuntimeError(f"shape {shape} is invalid for {count} elements")
        shape[shape.index(-1)] = count // rest
    total = 1
    for s in shape:
        total *= s
    if total != count:
        raise RuntimeError(f"shape {shape} is invalid for {count} elements")
    return shape


def count_of(shape):
    total = 1
    for s in shape:
        total *= s
    return total


# ---- views


@op("view", "reshape", "view_as", "reshape_as")
def view_(tr, input, *shape, **kwargs):
    if "shape" in kwargs or "size" in kwargs:
        shape = kwargs.get("shape", kwargs.get("size"))
        shape = [shape]
    if len(shape) == 1 and isinstance(shape[0], torch.dtype):
        raise Refusal("a view as another type")
    if len(shape) == 1 and isinstance(shape[0], Traced):
        shape = tuple(shape[0].own.shape)
    return to_shape(input, resolve(flat_sizes(shape), count_of(node(input).shape)))


def to_shape(input, shape):
    shape = tuple(shape)
    return view(input, lambda b: reshape(b, shape), lambda b, new: reshape(new, b.shape))


@op("flatten")
def flatten(tr, input, start_dim=0, end_dim=-1):
    shape = list(node(input).shape)
    a, b = axis_of(node(input), start_dim), axis_of(node(input), end_dim)
    return to_shape(input, shape[:a] + [count_of(shape[a : b + 1])] + shape[b + 1 :])


op("ravel")(lambda tr, input: flatten(tr, input))


@op("unflatten")
def unflatten(tr, input, dim, sizes):
    shape = list(node(input).shape)
    d = axis_of(node(input), dim)
    return to_shape(input, shape[:d] + resolve(list(sizes), shape[d]) + shape[d + 1 :])


@op("unsqueeze")
def unsqueeze(tr, input, dim):
    shape = list(node(input).shape)
    dim = int(dim) if dim >= 0 else int(dim) + len(shape) + 1
    return to_shape(input, shape[:dim] + [1] + shape[dim:])


@op("squeeze")
def squeeze(tr, input, dim=None):
    shape = list(node(input).shape)
    dims = range(len(shape)) if dim is None else dim if isinstance(dim, (tuple, list)) else [dim]
    dims = [axis_of(node(input), d) for d in dims]
    keep = [i for i in range(len(shape)) if not (i in dims and shape[i] == 1)]
    if keep == list(range(len(shape))):
        return input
    return view(input, lambda b: without(b, keep), lambda b, new: reshape(new, b.shape))


def without(x, keep):
    """Axes of size 1 dropped."""
    return index(x, [slice(None) if i in keep else 0 for i in range(len(x.shape))])


@op("permute")
def permute(tr, input, *dims, **kwargs):
    dims = kwargs.get("dims", dims)
    order = [axis_of(node(input), d) for d in flat_sizes(dims if dims is not kwargs.get("dims") else [dims])]
    back = [order.index(i) for i in range(len(order))]
    return view(input, lambda b: transpose(b, order), lambda b, new: transpose(new, back))


@op("transpose", "swapaxes", "swapdims")
def transpose_(tr, input, dim0, dim1):
    order = list(range(len(node(input).shape)))
    a, b = axis_of(node(input), dim0), axis_of(node(input), dim1)
    if order:
        order[a], order[b] = order[b], order[a]
    return permute(tr, input, order)


@op("t")
def t(tr, input):
    return permute(tr, input, list(reversed(range(len(node(input).shape)))))


@op("adjoint")
def adjoint(tr, input):
    return transpose_(tr, input, -2, -1)


@op("movedim", "moveaxis")
def movedim(tr, input, source, destination):
    x = node(input)
    source = [axis_of(x, d) for d in (source if isinstance(source, (tuple, list)) else [source])]
    destination = [axis_of(x, d) for d in (destination if isinstance(destination, (tuple, list)) else [destination])]
    order = [None] * len(x.shape)
    for s, d in zip(source, destination):
        order[d] = s
    rest = iter(i for i in range(len(x.shape)) if i not in source)
    return permute(tr, input, [o if o is not None else next(rest) for o in order])


@op("detach", "view_as_real", "alias", "requires_grad", "detach_")
def detach(tr, input):
    return view(input, lambda b: b, lambda b, new: new)


op("contiguous", "clone")(lambda tr, input, *args, **kwargs: node(input))


@op("expand", "broadcast_to", "expand_as")
def expand(tr, input, *shape, **kwargs):
    shape = kwargs.get("size", shape)
    if len(shape) == 1 and isinstance(shape[0], Traced):
        shape = tuple(shape[0].own.shape)
    x, shape = node(input), flat_sizes(shape)
    lead = len(shape) - len(x.shape)
    shape = [x.shape[i - lead] if s == -1 else s for i, s in enumerate(shape)]
    return view(input, lambda b: spread(b, shape), None)


@op("select")
def select(tr, input, dim, index):
    return getitem(tr, input, (slice(None),) * axis_of(node(input), dim) + (index,))


def narrow_node(x, dim, start, length):
    items = [slice(None)] * len(x.shape)
    items[dim] = slice(start, start + length)
    return index(x, items)


@op("narrow")
def narrow(tr, input, dim, start, length):
    dim = axis_of(node(input), dim)
    start = element_size(start)
    start = start + node(input).shape[dim] if start < 0 else start
    return getitem(tr, input, (slice(None),) * dim + (slice(start, start + length),))


@op("split", "split_with_sizes")
def split(tr, input, split_size_or_sections=None, dim=0, **kwargs):
    by = split_size_or_sections if split_size_or_sections is not None else kwargs.get("split_size", kwargs.get("split_sizes"))
    dim = axis_of(node(input), dim)
    size = node(input).shape[dim]
    if not isinstance(by, (tuple, list)):
        by = [min(by, size - i) for i in range(0, size, by)]
    starts = [sum(by[:i]) for i in range(len(by))]
    return tuple(narrow(tr, input, dim, s, n) for s, n in zip(starts, by))


@op("chunk")
def chunk(tr, input, chunks, dim=0):
    size = node(input).shape[axis_of(node(input), dim)]
    return split(tr, input, -(-size // chunks), dim)


@op("tensor_split")
def tensor_split(tr, input, indices_or_sections, dim=0):
    size, n = node(input).shape[axis_of(node(input), dim)], indices_or_sections
    if isinstance(n, int):
        return split(tr, input, [size // n + (1 if i < size % n else 0) for i in range(n)], dim)
    edges = [0] + list(n) + [size]
    return split(tr, input, [b - a for a, b in zip(edges, edges[1:])], dim)


@op("unbind", "__iter__")
def unbind(tr, input, dim=0):
    dim = axis_of(node(input), dim)
    parts = tuple(select(tr, input, dim, i) for i in range(node(input).shape[dim]))
    for i, p in enumerate(parts):
        real = known(input)
        p.const = real.select(dim, i) if real is not None else None
    return parts


# ---- subscripts


def full_items(x, items):
    """A subscript with an item for every axis: no '...', and masks and lists as tensors."""
    items = list(items) if isinstance(items, tuple) else [items]
    used = sum(1 for i in items if i is not None and i is not Ellipsis and not isinstance(i, bool))
    used += sum(len(i.own.shape) - 1 for i in items if isinstance(i, Traced) and i.own.dtype is torch.bool)
    rest = len(x.shape) - used
    at = next((k for k, i in enumerate(items) if i is Ellipsis), None)
    if at is None:
        items += [slice(None)] * rest
    else:
        items[at : at + 1] = [slice(None)] * rest
    return items


def known_item(i):
    """An int for a tensor of one known whole number."""
    if isinstance(i, Traced) and i.own.shape == () and known(i) is not None and i.own.dtype is not torch.bool:
        return int(known(i).item())
    if isinstance(i, slice):
        return slice(*[known_item(p) for p in (i.start, i.stop, i.step)])
    return i


def is_basic(items):
    return all(i is None or isinstance(i, (int, slice)) and not isinstance(i, bool) for i in items)


@op("__getitem__")
def getitem(tr, input, items):
    x = node(input)
    items = [known_item(i) for i in full_items(x, items)]
    if is_basic(items):
        return view(input, lambda b: index(b, items), lambda b, new: put_part(b, items, new))
    return gather_items(tr, x, items)


def positions(tr, i):
    """An index tensor as a node; a list becomes one."""
    if isinstance(i, (list, tuple)):
        i = tr.adopt(torch.tensor(i))
    n = node(i)
    if n.dtype is torch.bool:
        real = known(i)
        if real is None:
            raise Refusal("a subscript by a mask: the size of the result depends on data")
        return node(tr.adopt(real.nonzero(as_tuple=True)[0]))
    real = known(i)
    return n, real


def wrapped(n, real, size):
    """An index that may be negative, counted from the start."""
    if n.dtype not in (torch.int32, torch.int64):
        n = cast(n, torch.int64)
    if isinstance(n, Full):
        n = spread_out(Full(n.shape, n.dtype, n.value % size), n.shape)
    elif real is not None and bool((real < 0).any()):
        n = by_element("where({0:2} < 0, {0:2} + %d, {0})" % size, ATOM, [n], n.dtype)
    return n


def gather_items(tr, x, items):
    """x[..., index, ...]: one index is a take; several next to one another are one take of a flat axis."""
    tensors = [k for k, i in enumerate(items) if not (i is None or isinstance(i, (int, slice)) and not isinstance(i, bool))]
    for k in tensors:
        if isinstance(items[k], Traced) and items[k].own.dtype is torch.bool and len(items[k].own.shape) > 1:
            raise Refusal("a subscript by a mask: the size of the result depends on data")
    basic = [slice(None) if k in tensors else i for k, i in enumerate(items)]
    advanced_ints = [k for k, i in enumerate(items) if isinstance(i, int)]
    if advanced_ints:
        # An int among index tensors is an index too, and decides where the new axes stand.
        if [k for k in advanced_ints if k < tensors[0] - 1 or k > tensors[-1] + 1]:
            raise Refusal("ints and index tensors apart from one another in a subscript")
    x = index(x, basic)
    axis, axes = 0, []
    for k, i in enumerate(items):
        if k in tensors:
            axes.append(axis)
        if not isinstance(i, int):
            axis += 1
    if axes != list(range(axes[0], axes[0] + len(axes))):
        raise Refusal("index tensors apart from one another in a subscript")
    pairs = [positions(tr, items[k]) for k in tensors]
    pairs = [p if isinstance(p, tuple) else (p, None) for p in pairs]
    ids = [wrapped(n, real, x.shape[a]) for (n, real), a in zip(pairs, axes)]
    first = axes[0]
    if len(ids) > 1:
        flat = ids[0]
        for n, a in zip(ids[1:], axes[1:]):
            flat = by_element("{0:3} * %d + {1:3}" % x.shape[a], 2, [flat, n], torch.int64, torch.int64)
        merged = list(x.shape[:first]) + [count_of([x.shape[a] for a in axes])] + list(x.shape[axes[-1] + 1 :])
        x, ids = reshape(x, merged), [flat]
    return take(x, ids[0], first)


def take(x, ids, axis):
    if isinstance(x, Full):
        return Full(list(x.shape[:axis]) + list(ids.shape) + list(x.shape[axis + 1 :]), x.dtype, x.value)
    shape = list(x.shape[:axis]) + list(ids.shape) + list(x.shape[axis + 1 :])
    return call("take", [x, ids], shape, x.dtype, axis=axis)


def put_part(x, items, new):
    """x with x[items] = new: parts before and behind, axis by axis."""
    axes = [(i if isinstance(i, slice) else slice(int(i) % x.shape[a], int(i) % x.shape[a] + 1), isinstance(i, slice))
            for a, i in enumerate([i for i in items if i is not None])]  # fmt: skip
    part = [len(range(*s.indices(n))) for (s, _), n in zip(axes, x.shape)]
    new = spread(cast(new, x.dtype), index(x, items).shape) if new.shape != index(x, items).shape else cast(new, x.dtype)
    new = reshape(new, part)
    return put_axis(x, [s for s, _ in axes], new, 0)


def put_axis(x, slices, new, axis):
    while axis < len(slices) and range(*slices[axis].indices(x.shape[axis])) == range(x.shape[axis]):
        axis += 1
    if axis == len(slices):
        return new
    start, stop, step = slices[axis].indices(x.shape[axis])
    if step != 1:
        return put_strided(x, slices, new, axis, start, stop, step)
    middle = put_axis(narrow_node(x, axis, start, stop - start), slices, new, axis + 1)
    parts = [narrow_node(x, axis, 0, start)] if start else []
    parts.append(middle)
    if stop < x.shape[axis]:
        parts.append(narrow_node(x, axis, stop, x.shape[axis] - stop))
    return concat([spread_out(p, p.shape) if isinstance(p, Full) else p for p in parts], axis)


def put_strided(x, slices, new, axis, start, stop, step):
    """Every step-th place: taken from the new values there, from the old ones elsewhere."""
    if any(range(*s.indices(n)) != range(n) for k, (s, n) in enumerate(zip(slices, x.shape)) if k != axis) or step < 0:
        raise Refusal("a write to parts with steps along several axes")
    n = x.shape[axis]
    tail = (1,) * (len(x.shape) - axis - 1)
    steps = Node(f"arange({n})", [], (n,), torch.int64)
    here = by_element("logical_and(logical_and({0} >= %d, {0} < %d), ({0} - %d) %% %d == 0)" % (start, stop, start, step), ATOM, [steps], torch.bool, torch.bool)
    ids = by_element("clamp(({0} - %d) // %d, 0, %d)" % (start, step, new.shape[axis] - 1), ATOM, [steps], torch.int64, torch.int64)
    new = spread_out(new, new.shape) if isinstance(new, Full) else new
    return by_element("where({0}, {1}, {2})", ATOM, [reshape(here, (n,) + tail), take(new, ids, axis), x], x.dtype)


@op("__setitem__")
def setitem(tr, input, items, new):
    x = node(input)
    items = [known_item(i) for i in full_items(x, items)]
    new = scalar(node(new))
    if not isinstance(new, Node):
        new = Full((), x.dtype, new)
    if is_basic(items):
        write(input, put_part(x, items, new))
        return None
    masks = [i for i in items if isinstance(i, Traced) and i.own.dtype is torch.bool]
    if len(masks) == 1 and all(i is masks[0] or i == slice(None) for i in items) and new.shape == ():
        at = next(k for k, i in enumerate(items) if i is masks[0])
        mask = reshape(value(masks[0]), (1,) * at + value(masks[0]).shape + (1,) * (len(items) - at - 1)) if len(items) > 1 else value(masks[0])
        fill = new.value if isinstance(new, Full) else cast(new, x.dtype)
        write(input, by_element("where({0}, {1}, {2})", ATOM, [mask, fill, x], x.dtype))
        return None
    raise Refusal("a write to places that data decide")


op("copy_", "set_")(lambda tr, input, other, *args, **kwargs: write(input, spread(cast(node(other), node(input).dtype), node(input).shape)) or input)
op("zero_")(lambda tr, input: write(input, Full(node(input).shape, node(input).dtype, 0)) or input)
op("fill_", "constant_")(lambda tr, input, value: write(input, filled(node(input).shape, node(input).dtype, value)) or input)


def filled(shape, dtype, number):
    number = scalar(node(number))
    return Full(shape, dtype, number) if not isinstance(number, Node) else spread(cast(number, dtype), shape)


# ---- moves


@op("cat", "concat", "concatenate")
def cat(tr, tensors, dim=0, **kwargs):
    parts = [node(t) for t in tensors]
    parts = [p for p in parts if p.shape != (0,)]
    dtype = parts[0].dtype
    for p in parts:
        dtype = torch.promote_types(dtype, p.dtype)
    parts = [cast(p, dtype) for p in parts]
    return concat([spread_out(p, p.shape) if isinstance(p, Full) else p for p in parts], axis_of(parts[0], kwargs.get("axis", dim)))


@op("stack")
def stack(tr, tensors, dim=0):
    parts = [node(t) for t in tensors]
    parts = [spread_out(p, p.shape) if isinstance(p, Full) else p for p in parts]
    dim = int(dim) if dim >= 0 else int(dim) + len(parts[0].shape) + 1
    return graph_stack(parts, dim)


op("hstack")(lambda tr, tensors: cat(tr, tensors, 0 if len(node(tensors[0]).shape) == 1 else 1))


@op("vstack")
def vstack(tr, tensors):
    return cat(tr, [unsqueeze(tr, t, 0) if len(node(t).shape) == 1 else t for t in tensors], 0)


@op("flip")
def flip(tr, input, *dims):
    x = node(input)
    axes = [axis_of(x, d) for d in flat_sizes(dims)]
    return call("flip", [x], x.shape, x.dtype, axis=str(axes[0]) if len(axes) == 1 else sizes(axes))


op("fliplr")(lambda tr, input: flip(tr, input, 1))
op("flipud")(lambda tr, input: flip(tr, input, 0))


@op("roll")
def roll(tr, input, shifts, dims=None):
    x = node(input)
    if dims is None:
        return reshape(roll(tr, reshape(x, (count_of(x.shape),)), shifts, 0), x.shape)
    shifts = shifts if isinstance(shifts, (tuple, list)) else [shifts]
    dims = dims if isinstance(dims, (tuple, list)) else [dims]
    for s, d in zip(shifts, dims):
        d = axis_of(x, d)
        cut = -s % x.shape[d]
        if cut:
            x = concat([narrow_node(x, d, cut, x.shape[d] - cut), narrow_node(x, d, 0, cut)], d)
    return x


@op("repeat", "tile")
def repeat(tr, input, *times, **kwargs):
    x = node(input)
    times = flat_sizes(kwargs.get("dims", kwargs.get("repeats", times)) if kwargs else times)
    times = [1] * (len(x.shape) - len(times)) + times
    x = reshape(x, (1,) * (len(times) - len(x.shape)) + x.shape)
    if all(n == 1 for n in times):
        return x
    if all(n == 1 or s == 1 for n, s in zip(times, x.shape)):
        return spread(x, [n * s for n, s in zip(times, x.shape)])
    return call("tile", [x, sizes(times)], [n * s for n, s in zip(times, x.shape)], x.dtype)


@op("repeat_interleave")
def repeat_interleave(tr, input, repeats, dim=None, **kwargs):
    x = node(input)
    if not isinstance(repeats, int):
        raise Refusal("repeats that differ from element to element")
    if dim is None:
        x, dim = reshape(x, (count_of(x.shape),)), 0
    dim = axis_of(x, dim)
    shape = list(x.shape)
    shape[dim] *= repeats
    return call("repeat", [x, str(repeats)], shape, x.dtype, axis=dim)


@op("unfold")
def unfold(tr, input, dimension=None, size=None, step=None, **kwargs):
    if step is None:
        raise Refusal("image to columns (F.unfold)")
    x = node(input)
    d = axis_of(x, dimension)
    n = (x.shape[d] - size) // step + 1
    if size == step:
        x = reshape(narrow_node(x, d, 0, n * size), x.shape[:d] + (n, size) + x.shape[d + 1 :])
    else:
        ids = Node(f"arange({n})[:, None] * {step} + arange({size})", [], (n, size), torch.int64)
        x = take(x, ids, d)
    order = [i for i in range(len(x.shape)) if i != d + 1] + [d + 1]
    return transpose(x, order)


@op("pad", "constant_pad_nd")
def pad(tr, input, pad, mode="constant", value=None):
    x = node(input)
    pairs = [(0, 0)] * (len(x.shape) - len(pad) // 2)
    pairs += [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    for d, (a, b) in enumerate(pairs):
        if min(a, b) < 0:
            x = narrow_node(x, d, max(-a, 0), x.shape[d] - max(-a, 0) - max(-b, 0))
    pairs = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if mode != "constant":
        return pad_by_copies(x, pairs, mode)
    if not any(a or b for a, b in pairs):
        return x
    shape = [n + a + b for n, (a, b) in zip(x.shape, pairs)]
    text = "(" + ", ".join(f"({a}, {b})" for a, b in pairs) + ")" if len(pairs) > 1 else f"(({pairs[0][0]}, {pairs[0][1]}),)"
    x = spread_out(x, x.shape) if isinstance(x, Full) else x
    if value:
        return call("pad", [x, text], shape, x.dtype, value=scalar(node(value)))
    return call("pad", [x, text], shape, x.dtype)


def pad_by_copies(x, pairs, mode):
    for d, (a, b) in enumerate(pairs):
        n, parts = x.shape[d], [x]
        if mode == "circular":
            parts = ([narrow_node(x, d, n - a, a)] if a else []) + parts + ([narrow_node(x, d, 0, b)] if b else [])
        elif mode == "replicate":
            for count, at, where in ((a, 0, 0), (b, n - 1, 1)):
                edge = narrow_node(x, d, at, 1)
                wide = list(x.shape)
                wide[d] = count
                parts = parts[:] if not count else [spread(edge, wide)] + parts if where == 0 else parts + [spread(edge, wide)]
        elif mode == "reflect":
            turned = lambda part: call("flip", [part], part.shape, part.dtype, axis=d)
            parts = ([turned(narrow_node(x, d, 1, a))] if a else []) + parts
            parts += [turned(narrow_node(x, d, n - 1 - b, b))] if b else []
        else:
            raise Refusal(f"padding mode {mode}")
        x = concat(parts, d)
    return x


@op("pixel_shuffle")
def pixel_shuffle(tr, input, upscale_factor):
    x, r = node(input), upscale_factor
    *lead, c, h, w = x.shape
    k = len(lead)
    x = reshape(x, (*lead, c // (r * r), r, r, h, w))
    x = transpose(x, [*range(k), k, k + 3, k + 1, k + 4, k + 2])
    return reshape(x, (*lead, c // (r * r), h * r, w * r))


@op("pixel_unshuffle")
def pixel_unshuffle(tr, input, downscale_factor):
    x, r = node(input), downscale_factor
    *lead, c, h, w = x.shape
    k = len(lead)
    x = reshape(x, (*lead, c, h // r, r, w // r, r))
    x = transpose(x, [*range(k), k, k + 2, k + 4, k + 1, k + 3])
    return reshape(x, (*lead, c * r * r, h // r, w // r))


@op("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(tr, input, groups):
    x = node(input)
    b, c, *rest = x.shape
    x = reshape(x, (b, groups, c // groups, *rest))
    x = transpose(x, [0, 2, 1, *range(3, len(x.shape))])
    return reshape(x, (b, c, *rest))
