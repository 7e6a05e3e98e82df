"""Factories, random numbers, and tensors that come with data."""

import torch

from import_graph import ATOM, MOST_VALUES, TYPES, Draw, Full, Leaf, Node, Refusal, cast, concat, is_float, number, reshape
from import_moves import flat_sizes
from import_pointwise import by_element, node, scalar
from import_trace import INIT, Traced, Tracer, known, op, write

LONGEST_LIST = 4096


def from_data(t):
    """A node for a tensor with data: one number, an even sequence, or a list of numbers."""
    shape = tuple(t.shape)
    if t.numel() > LONGEST_LIST and not bool((t == t.reshape(-1)[0]).all()):
        raise Refusal(f"a constant of {t.numel()} elements, which come from outside of PyTorch")
    flat = t.detach().reshape(-1)
    if t.numel() == 0:
        raise Refusal("a tensor without elements")
    first = flat[0].item()
    if bool((flat == flat[0]).all()):
        return Full(shape, t.dtype, first)
    if t.dtype is torch.bool:
        return cast(listed(flat.to(torch.int32), shape), torch.bool)
    return listed(flat, shape)


def listed(flat, shape):
    n = flat.numel()
    values = [v.item() for v in flat]
    steps = {values[i + 1] - values[i] for i in range(n - 1)}
    if len(steps) == 1 and not is_float(flat.dtype):
        return reshape(sequence(values[0], steps.pop(), n, flat.dtype), shape)
    groups = [values[i : i + MOST_VALUES] for i in range(0, n, MOST_VALUES)]
    parts = [Node("stack(" + ", ".join(number(v) for v in g) + ")", [], (len(g),), torch.float32) for g in groups]
    if flat.dtype in (torch.int32, torch.int64, torch.float64):
        # In these types from the start: f32 would not have every number of theirs.
        kind = TYPES[flat.dtype]
        parts = [Node("stack(" + ", ".join(f"{kind}({number(v)})" for v in g) + ")", [], (len(g),), flat.dtype) for g in groups]
    return reshape(cast(concat(parts, 0), flat.dtype), shape)


def sequence(start, step, n, dtype):
    x = Node(f"arange({n})", [], (n,), torch.int64)
    if is_float(dtype):
        x = cast(x, dtype)
    if step != 1:
        x = by_element("{0:3} * {1:4}", 3, [x, step], x.dtype)
    if start != 0:
        x = by_element("{0:2} + {1:3}", 2, [x, start], x.dtype)
    return cast(x, dtype)


# ---- factories


def type_or(dtype, default=None):
    return dtype or default or torch.get_default_dtype()


def plain_number(v):
    return scalar(node(v)) if isinstance(v, Traced) else v


def filled(shape, dtype, v):
    if is_float(dtype):
        v = float(v)
    return Full(shape, dtype, v)


@op("zeros")
def zeros(tr, *size, dtype=None, **kwargs):
    return filled(flat_sizes(size or [kwargs["size"]]), type_or(dtype), 0)


@op("ones")
def ones(tr, *size, dtype=None, **kwargs):
    return filled(flat_sizes(size or [kwargs["size"]]), type_or(dtype), 1)


@op("full")
def full(tr, size, fill_value, *, dtype=None, **kwargs):
    v = plain_number(fill_value)
    if dtype is None:
        dtype = torch.bool if isinstance(v, bool) else torch.int64 if isinstance(v, int) else torch.get_default_dtype()
    return filled(flat_sizes([size] if isinstance(size, (tuple, list)) else [(size,)]), dtype, v)


def like(fill):
    return lambda tr, input, *args, dtype=None, **kwargs: filled(node(input).shape, type_or(dtype, node(input).dtype), fill if fill is not None else plain_number(args[0]))


op("zeros_like")(like(0))
op("ones_like")(like(1))
op("full_like")(lambda tr, input, fill_value, dtype=None, **kwargs: filled(node(input).shape, type_or(dtype, node(input).dtype), plain_number(fill_value)))
op("new_zeros")(lambda tr, input, *size, dtype=None, **kwargs: filled(flat_sizes(size or [kwargs["size"]]), type_or(dtype, node(input).dtype), 0))
op("new_ones")(lambda tr, input, *size, dtype=None, **kwargs: filled(flat_sizes(size or [kwargs["size"]]), type_or(dtype, node(input).dtype), 1))
op("new_full")(lambda tr, input, size, fill_value, dtype=None, **kwargs: filled(flat_sizes([size]), type_or(dtype, node(input).dtype), plain_number(fill_value)))


# What is empty may hold anything: it must be written before it is read, and zeros are as good.
@op("empty")
def empty(tr, *size, dtype=None, **kwargs):
    return filled(flat_sizes(size or [kwargs["size"]]), type_or(dtype), 0)


op("empty_like")(like(0))
op("new_empty")(lambda tr, input, *size, dtype=None, **kwargs: filled(flat_sizes(size), type_or(dtype, node(input).dtype), 0))


@op("arange", "range")
def arange(tr, *args, dtype=None, start=0, end=None, step=1, **kwargs):
    args = [plain_number(a) for a in args]
    if len(args) == 1:
        end = args[0]
    elif args:
        start, end, step = (args + [1])[:3]
    if dtype is None:
        dtype = torch.get_default_dtype() if any(isinstance(v, float) for v in (start, end, step)) else torch.int64
    n = -int(-(end - start) // step)
    return sequence(start, step, n, dtype)


@op("linspace")
def linspace(tr, start, end, steps, *, dtype=None, **kwargs):
    start, end = plain_number(start), plain_number(end)
    if steps == 1:
        return filled((1,), type_or(dtype), start)
    return sequence(float(start), (float(end) - float(start)) / (steps - 1), int(steps), type_or(dtype))


@op("eye")
def eye(tr, n, m=None, *, dtype=None, **kwargs):
    m = n if m is None else m
    on = Node(f"arange({n})[:, None] == arange({m})[None, :]", [], (n, m), torch.bool, binds=1)
    return cast(on, type_or(dtype))


@op("tensor", "as_tensor", "scalar_tensor", "asarray")
def tensor(tr, data, *, dtype=None, **kwargs):
    if isinstance(data, Traced):
        return cast(node(data), dtype) if dtype else data
    from import_trace import tensors_in

    if tensors_in(data):
        flat = [cast(node(t), dtype or torch.get_default_dtype()) if isinstance(t, Traced) else t for t in data]
        from import_moves import stack

        return stack(tr, [Traced(f if isinstance(f, Node) else filled((), type_or(dtype), f)) for f in flat])
    return from_data(torch.tensor(data, dtype=dtype))


op("from_numpy")(lambda tr, array: from_data(torch.from_numpy(array)))


# ---- random numbers


def draw(tr, shape, dtype, distribution, *numbers):
    n = Draw(shape, dtype, distribution, [plain_number(n) for n in numbers])
    if not tr.forward:
        return n
    tr.note("what forward() draws at random is an input")
    leaf = Leaf(n, f"drawn{len(tr.draws) + 1}", False, n)
    leaf.origin = ["draw", len(tr.draws)]
    tr.draws.append(leaf)
    return leaf


def random(distribution, *numbers):
    def function(tr, *size, dtype=None, **kwargs):
        return draw(tr, flat_sizes(size or [kwargs["size"]]), type_or(dtype), distribution, *numbers)

    def alike(tr, input, dtype=None, **kwargs):
        return draw(tr, input.own.shape, type_or(dtype, input.own.dtype), distribution, *numbers)

    return function, alike


for name, distribution, *parameters in (("rand", "uniform", 0, 1), ("randn", "normal", 0, 1)):
    function, alike = random(distribution, *parameters)
    op(name)(function)
    op(name + "_like")(alike)


@op("randint")
def randint(tr, *args, low=0, high=None, size=None, dtype=None, **kwargs):
    args = list(args)
    if size is None:
        size = args.pop()
    if high is None:
        high = args.pop()
    if args:
        low = args.pop()
    return draw(tr, flat_sizes([size]), dtype or torch.int64, "integers", low, plain_number(high) - 1)


@op("randint_like")
def randint_like(tr, input, low, high=None, dtype=None, **kwargs):
    low, high = (0, low) if high is None else (low, high)
    return draw(tr, input.own.shape, dtype or input.own.dtype, "integers", low, high - 1)


@op("randperm")
def randperm(tr, n, dtype=None, **kwargs):
    return draw(tr, (n,), dtype or torch.int64, "permutation")


@op("normal")
def normal(tr, mean=0.0, std=1.0, size=None, **kwargs):
    if size is None or isinstance(mean, Traced) or isinstance(std, Traced):
        raise Refusal("means or deviations that differ from element to element")
    return draw(tr, flat_sizes([size]), torch.get_default_dtype(), "normal", mean, std)


@op("bernoulli")
def bernoulli(tr, input, p=None, **kwargs):
    n = node(input)
    if p is None and not isinstance(n, Full):
        raise Refusal("chances that differ from element to element")
    return draw(tr, n.shape, n.dtype, "bernoulli", n.value if p is None else p)


def fill_random(name, distribution, defaults):
    def function(tr, input, *args, **kwargs):
        kwargs.pop("generator", None)
        numbers = list(args) + list(kwargs.values())
        numbers += defaults[len(numbers) :]
        if name == "random_":
            numbers = [0, numbers[0] - 1] if len(numbers) == 1 else [numbers[0], numbers[1] - 1]
        write(input, draw(tr, input.own.shape, input.own.dtype, distribution, *numbers))
        return input

    op(name)(function)


fill_random("uniform_", "uniform", [0, 1])
fill_random("normal_", "normal", [0, 1])
fill_random("bernoulli_", "bernoulli", [0.5])
fill_random("random_", "integers", [])


def trunc_normal_(tr, tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, **kwargs):
    write(tensor, draw(tr, tensor.own.shape, tensor.own.dtype, "normal", mean, std))
    return tensor


def orthogonal_(tr, tensor, gain=1, **kwargs):
    """Elements of an orthogonal matrix are about as large as these."""
    n = max(tensor.own.shape[0], 1)
    write(tensor, draw(tr, tensor.own.shape, tensor.own.dtype, "normal", 0, gain / n**0.5))
    return tensor


# These do not ask whether there is a torch function, so they are replaced where modules look them up.
for name, function in (("trunc_normal_", trunc_normal_), ("orthogonal_", orthogonal_)):
    INIT[name] = function

    def either(tensor, *args, real=getattr(torch.nn.init, name), function=function, **kwargs):
        if isinstance(tensor, Traced):
            return function(Tracer.current, tensor, *args, **kwargs)
        return real(tensor, *args, **kwargs)

    setattr(torch.nn.init, name, either)

__all__ = ["ATOM", "known"]
