"""Arithmetic, comparisons and activations: PyTorch's names, and the language's text for each."""

import math

import torch

from import_graph import ADD, ATOM, COMPARE, MULTIPLY, POWER, TYPES, UNARY
from import_graph import Full, Node, Refusal, broadcast, call, cast, is_float, natural_type, number, spread
from import_trace import HANDLERS, Traced, known, op, root, value


def node(x):
    """The node of a tensor; numbers and nodes are as they are."""
    return value(x) if isinstance(x, Traced) else x


def scalar(x):
    """A number in place of a constant that is one everywhere."""
    if isinstance(x, Full) and x.shape == ():
        return x.value
    return x


def result_type(*operands):
    """PyTorch's own rule, by operands without data."""
    like = []
    for x in operands:
        if isinstance(x, Node):
            like.append(torch.empty([1] * min(len(x.shape), 1), dtype=x.dtype, device="meta"))
        else:
            like.append(x)
    if len(like) == 1:
        return like[0].dtype if isinstance(like[0], torch.Tensor) else torch.result_type(torch.empty((), dtype=torch.bool), like[0])
    dtype = torch.result_type(like[0], like[1])
    for x in like[2:]:
        dtype = torch.result_type(torch.empty([1], dtype=dtype, device="meta"), x)
    return dtype


def shape_of(*operands):
    return broadcast(*[x.shape for x in operands if isinstance(x, Node)])


def by_element(text, binds, operands, dtype, computes=None, computed_in=None):
    """A text with holes over operands, which broadcast. Numbers are written into it.

    A constant is written as a number, so it must not be what gives the result its shape.
    """
    if not any(isinstance(x, Node) for x in operands):
        operands = [Full((), torch.float32 if isinstance(x, float) else torch.int64, x) for x in operands]
    shape = shape_of(*operands)
    real = [x for x in operands if isinstance(x, Node) and not isinstance(x, Full)]
    if not real or broadcast(*[x.shape for x in real]) != shape:
        big = [x for x in operands if isinstance(x, Node) and x.shape == shape]
        if not real and all(not isinstance(x, Node) or isinstance(x, Full) for x in operands):
            filled = fold(text, operands)
            if filled is not None:
                return Full(shape, dtype, filled)
        operands = [spread_out(x, shape) if isinstance(x, Full) and (x in big or not real) else x for x in operands]
        if not big:
            operands = [spread_out(x, shape) if isinstance(x, Full) else x for x in operands]
    nodes, holes = [], {}
    for i, x in enumerate(operands):
        if isinstance(x, Node):
            holes[i] = len(nodes)
            nodes.append(x)
    import re

    def fill(match):
        i, place = int(match[1]), match[2] or ""
        if i in holes:
            return "{%d%s}" % (holes[i], place)
        literal = number(operands[i])
        return f"({literal})" if literal.startswith("-") and place and int(place[1:]) > UNARY else literal

    filled = re.sub(r"\{(\d+)(:\d)?\}", fill, text)
    natural = computes or computed_in or natural_type([x.dtype for x in nodes] + [torch.float32 for x in operands if isinstance(x, float)])
    return Node(filled, nodes, shape, dtype, natural, binds, elementwise=True)


def fold(text, operands):
    """The value of simple arithmetic on constants, or None."""
    values = [x.value if isinstance(x, Full) else x for x in operands]
    tables = {"{0:2} + {1:3}": "a + b", "{0:2} - {1:3}": "a - b", "{0:3} * {1:4}": "a * b", "-{0:4}": "-a"}
    if text not in tables:
        return None
    return eval(tables[text], {"a": values[0], "b": values[-1]})


def spread_out(x, shape):
    """A constant as a value of its own."""
    literal = number(x.value)
    one = f"({shape[0]},)" if len(shape) == 1 else "(" + ", ".join(map(str, shape)) + ")"
    literal = literal if is_float(x.dtype) and x.dtype is not torch.float64 else f"{TYPES[x.dtype]}({literal})"
    if x.dtype is torch.bool:
        literal = "1 > 0" if x.value else "1 < 0"
    text = f"broadcast_to({literal}, {one})" if shape else literal
    return Node(text, [], shape, x.dtype)


def numbers_of(*operands):
    return [scalar(node(x)) for x in operands]


def arithmetic(text, binds, a, b, to_float=False, alpha=1):
    a, b = numbers_of(a, b)
    if not isinstance(a, Node) and not isinstance(b, Node):
        a = Full((), result_type(a), a)
    dtype = result_type(a, b)
    if dtype is torch.bool:
        raise Refusal("arithmetic on truth values")
    if to_float and not is_float(dtype):
        dtype = torch.get_default_dtype()
    a, b = [cast(x, dtype) if isinstance(x, Node) and x.dtype is torch.bool else x for x in (a, b)]
    a, b = [int(x) if isinstance(x, bool) else x for x in (a, b)]
    if alpha != 1:
        b = b * alpha if not isinstance(b, Node) else by_element("{0:3} * {1:4}", MULTIPLY, [b, alpha], b.dtype)
    natural = natural_type([x.dtype for x in (a, b) if isinstance(x, Node)] + ([torch.float32] if to_float or any(isinstance(x, float) for x in (a, b)) else []))
    return by_element(text, binds, [a, b], dtype, natural)


def logical(x):
    x = node(x)
    return cast(x, torch.bool) if isinstance(x, Node) else x


@op("add", "__add__", "__radd__")
def add(tr, input, other, *, alpha=1):
    if all(isinstance(x, Node) and x.dtype is torch.bool for x in (node(input), node(other))):
        return bits(tr, input, other, "logical_or", "bitor")
    if not isinstance(node(input), Node):
        input, other = other, input
    return arithmetic("{0:2} + {1:3}", ADD, input, other, alpha=alpha)


@op("sub", "subtract", "__sub__")
def sub(tr, input, other, *, alpha=1):
    return arithmetic("{0:2} - {1:3}", ADD, input, other, alpha=alpha)


@op("rsub", "__rsub__")
def rsub(tr, input, other, *, alpha=1):
    return arithmetic("{0:2} - {1:3}", ADD, other, input, alpha=alpha)


@op("mul", "multiply", "__mul__", "__rmul__")
def mul(tr, input, other):
    a, b = node(input), node(other)
    if all(isinstance(x, Node) and x.dtype is torch.bool for x in (a, b)):
        return bits(tr, input, other, "logical_and", "bitand")
    return arithmetic("{0:3} * {1:4}", MULTIPLY, input, other)


@op("div", "divide", "true_divide", "__truediv__", "__div__")
def div(tr, input, other, *, rounding_mode=None):
    if rounding_mode == "floor":
        return floor_divide(tr, input, other)
    if rounding_mode == "trunc":
        a, b = numbers_of(input, other)
        exact = arithmetic("{0:3} / {1:4}", MULTIPLY, a, b, to_float=True)
        return cast(call("trunc", [exact], exact.shape, exact.dtype, elementwise=True), result_type(a, b))
    return arithmetic("{0:3} / {1:4}", MULTIPLY, input, other, to_float=True)


@op("__rtruediv__", "__rdiv__")
def rdiv(tr, input, other):
    return arithmetic("{0:3} / {1:4}", MULTIPLY, other, input, to_float=True)


@op("floor_divide", "__floordiv__")
def floor_divide(tr, input, other):
    return arithmetic("{0:3} // {1:4}", MULTIPLY, input, other)


@op("__rfloordiv__")
def rfloor_divide(tr, input, other):
    return arithmetic("{0:3} // {1:4}", MULTIPLY, other, input)


@op("remainder", "__mod__")
def remainder(tr, input, other):
    return arithmetic("{0:3} % {1:4}", MULTIPLY, input, other)


@op("__rmod__")
def rremainder(tr, input, other):
    return arithmetic("{0:3} % {1:4}", MULTIPLY, other, input)


@op("fmod")
def fmod(tr, input, other):
    a, b = numbers_of(input, other)
    whole = div(tr, a, b, rounding_mode="trunc")
    return arithmetic("{0:2} - {1:3}", ADD, a, arithmetic("{0:3} * {1:4}", MULTIPLY, whole, b))


@op("pow", "__pow__", "float_power")
def power(tr, input, exponent):
    x, e = numbers_of(input, exponent)
    dtype = result_type(x, e)
    if isinstance(x, Node) and not isinstance(e, Node):
        if e == 2:
            return call("square", [x], x.shape, dtype, natural_type([x.dtype]), elementwise=True)
        if e == 0.5 and is_float(x.dtype):
            return call("sqrt", [x], x.shape, dtype, natural_type([x.dtype]), elementwise=True)
        if e == -0.5 and is_float(x.dtype):
            return call("rsqrt", [x], x.shape, dtype, natural_type([x.dtype]), elementwise=True)
        if e == 1:
            return x
    return by_element("{0:6} ** {1:6}", POWER, [x, e], dtype)


@op("__rpow__")
def rpower(tr, input, other):
    return power(tr, other, input)


@op("addcmul")
def addcmul(tr, input, tensor1, tensor2, *, value=1):
    return add(tr, input, mul(tr, tensor1, tensor2), alpha=value)


@op("addcdiv")
def addcdiv(tr, input, tensor1, tensor2, *, value=1):
    return add(tr, input, div(tr, tensor1, tensor2), alpha=value)


@op("lerp")
def lerp(tr, input, end, weight):
    a, b, w = numbers_of(input, end, weight)
    return by_element("lerp({0}, {1}, {2})", ATOM, [a, b, w], result_type(a, b))


# ---- comparisons and logic


def comparison(text, a, b):
    a, b = numbers_of(a, b)
    if isinstance(a, Node) and a.dtype is torch.bool and not isinstance(b, Node) and text[5] == "=":
        return a if bool(b) else negate(a)
    a, b = [cast(x, torch.int32) if isinstance(x, Node) and x.dtype is torch.bool else x for x in (a, b)]
    return by_element(text, COMPARE, [a, b], torch.bool, torch.bool)


def negate(x):
    return call("logical_not", [x], x.shape, torch.bool, elementwise=True)


for names, sign in {
    ("lt", "less", "__lt__"): "<",
    ("le", "less_equal", "__le__"): "<=",
    ("gt", "greater", "__gt__"): ">",
    ("ge", "greater_equal", "__ge__"): ">=",
    ("eq", "__eq__"): "==",
    ("ne", "not_equal", "__ne__"): "!=",
}.items():
    op(*names)(lambda tr, input, other, sign=sign: comparison("{0:2} %s {1:2}" % sign, input, other))


def bits(tr, a, b, of_truth, of_integers):
    a, b = numbers_of(a, b)
    dtype = result_type(a, b)
    name = of_truth if dtype is torch.bool else of_integers
    return by_element(name + "({0}, {1})", ATOM, [a, b], dtype, dtype if dtype is torch.bool else None)


for names, words in {
    ("bitwise_and", "__and__", "__rand__"): ("logical_and", "bitand"),
    ("bitwise_or", "__or__", "__ror__"): ("logical_or", "bitor"),
    ("bitwise_xor", "__xor__", "__rxor__"): ("logical_xor", "bitxor"),
    ("bitwise_left_shift", "__lshift__"): ("shift_left", "shift_left"),
    ("bitwise_right_shift", "__rshift__"): ("shift_right", "shift_right"),
}.items():
    op(*names)(lambda tr, input, other, words=words: bits(tr, input, other, *words))

for name in ("logical_and", "logical_or", "logical_xor"):
    op(name)(lambda tr, input, other, name=name: by_element(name + "({0}, {1})", ATOM, [logical(input), logical(other)], torch.bool, torch.bool))


@op("logical_not")
def logical_not(tr, input):
    return negate(logical(input))


@op("bitwise_not", "__invert__")
def bitwise_not(tr, input):
    x = node(input)
    return negate(x) if x.dtype is torch.bool else by_element("bitxor({0}, {1})", ATOM, [x, -1], x.dtype)


@op("where")
def where(tr, condition, input=None, other=None):
    if input is None:
        raise Refusal("a result whose size depends on data")
    c, (a, b) = logical(condition), numbers_of(input, other)
    dtype = result_type(a, b) if isinstance(a, Node) or isinstance(b, Node) else torch.get_default_dtype()
    a, b = [cast(x, dtype) if isinstance(x, Node) and x.dtype is torch.bool and dtype is not torch.bool else x for x in (a, b)]
    return by_element("where({0}, {1}, {2})", ATOM, [c, a, b], dtype)


@op("masked_fill")
def masked_fill(tr, input, mask, value):
    x = node(input)
    fill = scalar(node(value))
    return by_element("where({0}, {1}, {2})", ATOM, [logical(mask), fill, x], x.dtype)


# ---- functions of one value

SAME = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh erf erfc "
    "reciprocal sigmoid selu silu mish softsign hardsigmoid hardswish relu6 tanhshrink logsigmoid"
).split()
OTHER_NAMES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "special_erf": "erf", "special_expm1": "expm1",
    "special_exp2": "exp2", "special_log1p": "log1p", "special_expit": "sigmoid", "expit": "sigmoid",
    "log_sigmoid": "logsigmoid",
}  # fmt: skip
KEEP = {"relu": "relu", "abs": "abs", "absolute": "abs", "__abs__": "abs", "sign": "sign", "sgn": "sign",
        "square": "square"}  # fmt: skip
ROUND = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "fix": "trunc"}


def of_one(name, x, **words):
    """A function that gives a float."""
    x = node(x)
    dtype = x.dtype if is_float(x.dtype) else torch.get_default_dtype()
    if x.dtype is torch.bool:
        x = cast(x, dtype)
    return call(name, [spread_out(x, x.shape) if isinstance(x, Full) else x], x.shape, dtype, natural_type([x.dtype, torch.float32]), elementwise=True, **words)


for name in SAME:
    op(name)(lambda tr, input, name=name: of_one(name, input))
for other_name, name in OTHER_NAMES.items():
    op(other_name)(lambda tr, input, name=name: of_one(name, input))


def kept(name, x):
    x = node(x)
    if isinstance(x, Full):
        x = spread_out(x, x.shape)
    return call(name, [x], x.shape, x.dtype, natural_type([x.dtype]), elementwise=True)


for other_name, name in KEEP.items():
    op(other_name)(lambda tr, input, name=name: kept(name, input))
for other_name, name in ROUND.items():
    op(other_name)(lambda tr, input, name=name: kept(name, input) if is_float(node(input).dtype) else node(input))


@op("round")
def rounded(tr, input, *, decimals=0):
    if decimals:
        raise Refusal("decimals other than 0")
    return kept("round", input)


@op("neg", "negative", "__neg__")
def neg(tr, input):
    x = node(input)
    return by_element("-{0:4}", UNARY, [x], x.dtype, natural_type([x.dtype]))


@op("positive", "__pos__")
def positive(tr, input):
    return node(input)


for name in ("isnan", "isinf", "isfinite"):
    op(name)(lambda tr, input, name=name: call(name, [node(input)], node(input).shape, torch.bool, elementwise=True))


@op("nan_to_num")
def nan_to_num(tr, input, nan=0.0, posinf=None, neginf=None):
    x = node(input)
    most = torch.finfo(x.dtype).max
    x = by_element("where(isnan({0}), {1}, {0})", ATOM, [x, nan or 0.0], x.dtype)
    return by_element("clamp({0}, {1}, {2})", ATOM, [x, neginf if neginf is not None else -most, posinf if posinf is not None else most], x.dtype)


@op("clamp", "clip")
def clamp(tr, input, min=None, max=None):
    x, lo, hi = numbers_of(input, min, max)
    dtype = result_type(*[v for v in (x, lo, hi) if v is not None])
    if lo is None and hi is None:
        raise RuntimeError("clamp: at least one of min and max must not be None")
    if lo is None:
        return by_element("minimum({0}, {1})", ATOM, [x, hi], dtype)
    if hi is None:
        return by_element("maximum({0}, {1})", ATOM, [x, lo], dtype)
    return by_element("clamp({0}, {1}, {2})", ATOM, [x, lo, hi], dtype)


@op("clamp_min")
def clamp_min(tr, input, min):
    return clamp(tr, input, min, None)


@op("clamp_max")
def clamp_max(tr, input, max):
    return clamp(tr, input, None, max)


for names, name in {
    ("maximum", "fmax"): "maximum",
    ("minimum", "fmin"): "minimum",
    ("atan2", "arctan2"): "atan2",
    ("hypot",): "hypot",
    ("logaddexp",): "logaddexp",
    ("xlogy", "special_xlogy"): "xlogy",
}.items():

    def two(tr, input, other, name=name):
        a, b = numbers_of(input, other)
        return by_element(name + "({0}, {1})", ATOM, [a, b], result_type(a, b))

    op(*names)(two)


# ---- activations with arguments


@op("gelu")
def gelu(tr, input, approximate="none"):
    return of_one("gelu_tanh" if approximate == "tanh" else "gelu", input)


@op("leaky_relu")
def leaky_relu(tr, input, negative_slope=0.01, inplace=False):
    return of_one("leaky_relu", input, slope=negative_slope)


@op("elu")
def elu(tr, input, alpha=1.0, scale=1, input_scale=1):
    return of_one("elu", input, alpha=alpha) if alpha != 1 else of_one("elu", input)


@op("celu")
def celu(tr, input, alpha=1.0):
    return of_one("celu", input, alpha=alpha)


@op("softplus")
def softplus(tr, input, beta=1, threshold=20):
    # Beyond the threshold PyTorch gives x itself, from which the formula differs by less than rounding.
    if threshold < 15:
        x = node(input)
        return by_element("where({0:3} * {1} > {2}, {0}, softplus({0}, beta={1}))", ATOM, [x, beta, threshold], x.dtype)
    return of_one("softplus", input, beta=beta) if beta != 1 else of_one("softplus", input)


@op("hardtanh")
def hardtanh(tr, input, min_val=-1.0, max_val=1.0):
    return of_one("hardtanh", input, lo=min_val, hi=max_val)


@op("hardshrink")
def hardshrink(tr, input, lambd=0.5):
    return of_one("hardshrink", input, **{"lambda": lambd})


@op("softshrink")
def softshrink(tr, input, lambd=0.5):
    return of_one("softshrink", input, **{"lambda": lambd})


@op("threshold")
def threshold(tr, input, threshold, value):
    return by_element("threshold({0}, {1}, {2})", ATOM, [node(input), threshold, value], node(input).dtype)


@op("prelu")
def prelu(tr, input, weight):
    x, w = node(input), node(weight)
    if w.shape != () and w.shape != (1,) and len(x.shape) > 2:
        from import_graph import reshape

        w = reshape(w, (w.shape[0],) + (1,) * (len(x.shape) - 2))
    return by_element("prelu({0}, {1})", ATOM, [x, w], x.dtype)


@op("logit", "special_logit")
def logit(tr, input, eps=None):
    x = node(input)
    if eps is not None:
        x = by_element("clamp({0}, {1}, {2})", ATOM, [x, eps, 1 - eps], x.dtype)
    return by_element("log({0:3} / (1 - {0:3}))", ATOM, [x], x.dtype)


@op("glu")
def glu(tr, input, dim=-1):
    from import_moves import narrow_node

    x = node(input)
    half = x.shape[dim] // 2
    a, b = narrow_node(x, dim, 0, half), narrow_node(x, dim, half, half)
    return by_element("{0:3} * sigmoid({1})", MULTIPLY, [a, b], x.dtype)


@op("dropout", "alpha_dropout", "feature_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout")
def dropout(tr, input, p=0.5, training=True):
    if training and p:
        tr.note(f"dropout (p = {p}) is left out, as in eval()")
    return node(input)


@op("rrelu")
def rrelu(tr, input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    if training:
        raise Refusal("draws a slope for every element in training; call eval()")
    return of_one("leaky_relu", input, slope=(lower + upper) / 2)


# ---- types


def to_type(dtype):
    return lambda tr, input, *args, **kwargs: cast(node(input), dtype)


for names, dtype in {
    ("float",): torch.float32, ("double",): torch.float64, ("half",): torch.float16,
    ("bfloat16",): torch.bfloat16, ("long",): torch.int64, ("int",): torch.int32,
    ("char",): torch.int8, ("byte",): torch.uint8, ("bool",): torch.bool,
}.items():  # fmt: skip
    op(*names)(to_type(dtype))


@op("to", "type", "type_as", "cuda", "cpu", "xpu")
def to(tr, input, *args, **kwargs):
    for a in list(args) + list(kwargs.values()):
        if isinstance(a, torch.dtype):
            return identity_or(input, a)
        if isinstance(a, Traced):
            return identity_or(input, a.dtype)
    return input


def identity_or(t, dtype):
    return t if node(t).dtype == dtype else cast(node(t), dtype)


# ---- Python asks for an element


def element(t):
    """The number in a tensor, where it is known."""
    real = known(t)
    if real is None and isinstance(value(t), Full):
        return value(t).value
    if real is None:
        raise Refusal("Python asks for an element, which depends on data")
    return real.item()


for name, convert in {"item": lambda v: v, "__bool__": bool, "__float__": float, "__int__": int, "__index__": int,
                      "is_nonzero": bool, "__complex__": complex}.items():  # fmt: skip
    HANDLERS[name] = lambda tr, input, convert=convert: convert(element(input))

op("tolist")(lambda tr, input: known(input).tolist() if known(input) is not None else element(input))
op("numpy")(lambda tr, input: known(input).numpy() if known(input) is not None else element(input))
op("_has_compatible_shallow_copy_type")(lambda tr, input, other: False)  # so Module.to() makes new parameters
op("data_ptr")(lambda tr, input: id(root(input)))
op("__len__")(lambda tr, input: int(input.own.shape[0]))
op("__repr__", "__str__", "__format__")(lambda tr, input, *args, **kwargs: f"tensor of shape {list(value(input).shape)}")
op("__hash__")(lambda tr, input: id(input))
op("__contains__")(lambda tr, input, other: bool((known(input) == other).any()) if known(input) is not None else element(input))
op("requires_grad_", "retain_grad", "share_memory_", "pin_memory", "register_hook")(lambda tr, input, *args, **kwargs: input)

__all__ = ["math", "spread"]
