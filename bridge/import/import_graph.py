"""What `hone import` has of a module: nodes, each an expression of hone's language with holes.

A node's text names its operands as {0}, {1}, ...; `{0:3}` says how tightly the place binds, so that an
operand that binds less gets parentheses when import_text.py writes it in line. Shapes are known
numbers: the module's own Python runs while it is traced, and may ask for them.
"""

import math

import torch

# How tightly a text binds, in the order of docs/language.md.
COMPARE, ADD, MULTIPLY, UNARY, POWER, POSTFIX, ATOM = 1, 2, 3, 4, 5, 6, 7

TYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
}


class Size(int):
    """A whole number that knows what the file calls it, so that a dim can be called so too."""

    def __new__(cls, value, label):
        self = int.__new__(cls, value)
        self.label = label
        return self

    def __reduce__(self):
        return int, (int(self),)


class Refusal(Exception):
    """Something that the language cannot say; the message is for the user."""


class Node:
    """One value. `natural` is the type that the language gives the text by itself."""

    count = 0

    def __init__(self, text, args, shape, dtype, natural=None, binds=ATOM, elementwise=False):
        if dtype not in TYPES:
            raise Refusal(f"type {str(dtype).replace('torch.', '')} is none of the language's")
        Node.count += 1
        self.number = Node.count
        self.text = text
        self.args = list(args)
        self.shape = tuple(s if isinstance(s, Size) else int(s) for s in shape)
        self.dtype = dtype
        self.natural = natural or dtype
        self.binds = binds
        self.elementwise = elementwise  # a constant among its operands is written as a number
        self.path = ""  # of the module that computed it
        self.line = 0  # of the user's file

    kind = "call"


class Draw(Node):
    """Random numbers: an input, or a parameter before training."""

    kind = "draw"

    def __init__(self, shape, dtype, distribution, numbers=()):
        super().__init__("", [], shape, dtype)
        self.distribution = distribution
        self.numbers = tuple(numbers)


class Leaf(Node):
    """An input or a parameter under its name."""

    kind = "leaf"

    def __init__(self, like, name, is_param, source):
        super().__init__("", [], like.shape, like.dtype)
        self.name = name
        self.is_param = is_param
        self.source = source  # the node that says how it is drawn
        self.origin = None  # where the module has it: "input", "parameter", ... and its place


class Full(Node):
    """A number everywhere."""

    kind = "full"

    def __init__(self, shape, dtype, value):
        super().__init__("", [], shape, dtype, elementwise=True)
        self.value = value


class Loop(Node):
    """Steps along an axis: lines with holes, of which states and kept values are read by Part nodes."""

    kind = "loop"

    def __init__(self, steps, reverse, states, lines, kept, args):
        super().__init__("", args, (), torch.float32)
        self.steps = steps
        self.reverse = reverse
        self.states = states  # (word, type and shape or None, operand's number or a literal)
        self.lines = lines  # "word = text"; words are made unique by import_text.py
        self.kept = kept


class Part(Node):
    """A last state or a kept value of a loop."""

    kind = "part"

    def __init__(self, loop, word, shape, dtype):
        super().__init__("", [loop], shape, dtype)
        self.word = word


def number(value):
    """A number as the language writes it."""
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, int):
        return str(int(value))
    value = float(value)
    if math.isnan(value):
        raise Refusal("NaN as a constant")
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e6:
        return repr(value)
    text = repr(value)
    if "e" in text:
        digits, power = text.split("e")
        text = f"{digits}e{int(power)}"
    return text


def sizes(shape):
    """A tuple of sizes as an argument: (2, 3), and (2,) is written as one number."""
    shape = list(shape)
    if len(shape) == 1:
        return str(int(shape[0]))
    return "(" + ", ".join(str(int(s)) for s in shape) + ")"


def is_float(dtype):
    return dtype.is_floating_point


def natural_type(dtypes):
    """The type that the language computes in for operands of these types."""
    dtypes = [d for d in dtypes if d is not torch.bool] or [torch.int32]
    if any(is_float(d) for d in dtypes):
        return torch.float64 if torch.float64 in dtypes else torch.float32
    return torch.int64 if torch.int64 in dtypes else torch.int32


def broadcast(*shapes):
    """The shape of operands by element."""
    rank = max(len(s) for s in shapes)
    result = []
    for i in range(rank):
        size = 1
        for s in shapes:
            one = s[i - rank + len(s)] if i - rank + len(s) >= 0 else 1
            if one != 1 and size != 1 and one != size:
                raise RuntimeError(f"shapes {[tuple(s) for s in shapes]} do not broadcast")
            if one != 1 and not isinstance(size, Size):
                size = one
        result.append(size)
    return tuple(result)


def call(name, args, shape, dtype, natural=None, elementwise=False, **words):
    """NAME(operands, word=value, ...). An operand may be a node or a number."""
    holes, nodes = [], []
    for a in args:
        if isinstance(a, Node):
            holes.append("{%d}" % len(nodes))
            nodes.append(a)
        else:
            holes.append(a if isinstance(a, str) else number(a))
    holes += [f"{k}={v if isinstance(v, str) else number(v)}" for k, v in words.items()]
    return Node(f"{name}({', '.join(holes)})", nodes, shape, dtype, natural, ATOM, elementwise)


def cast(x, dtype):
    """The value in another type."""
    if x.dtype == dtype:
        return x
    if isinstance(x, Full):
        value = x.value
        if dtype is torch.bool:
            value = bool(value)
        elif not is_float(dtype):
            value = int(value)
        else:
            value = float(value)
        return Full(x.shape, dtype, value)
    if dtype is torch.bool:
        return Node("{0:2} != 0", [x], x.shape, dtype, binds=COMPARE, elementwise=True)
    if dtype not in TYPES:
        raise Refusal(f"type {str(dtype).replace('torch.', '')} is none of the language's")
    return call(TYPES[dtype], [x], x.shape, dtype, elementwise=True)


def spread(x, shape):
    """The value in a larger shape, written out."""
    shape = tuple(shape)
    if x.shape == shape:
        return x
    if isinstance(x, Full):
        return Full(shape, x.dtype, x.value)
    return call("broadcast_to", [x, sizes(shape) if len(shape) != 1 else f"({shape[0]},)"], shape, x.dtype)


def reshape(x, shape):
    """The same elements in row-major order."""
    shape = tuple(int(s) for s in shape)
    if x.shape == shape:
        return x
    if isinstance(x, Full):
        return Full(shape, x.dtype, x.value)
    if shape == ():
        return index(x, [0] * len(x.shape))
    if x.text.startswith("reshape(") and x.kind == "call":
        return reshape(x.args[0], shape)
    if x.shape == () or (1 in shape and [s for s in shape if s != 1] == list(x.shape)):
        return new_axes(x, shape)
    return call("reshape", [x, f"({shape[0]},)" if len(shape) == 1 else sizes(shape)], shape, x.dtype)


def new_axes(x, shape):
    """Axes of size 1, by subscripts."""
    if x.shape == ():
        return spread(x, shape)
    left, marks = list(x.shape), []
    for s in shape:
        if left and s == left[0] and (s != 1 or len([t for t in shape]) == len(x.shape)):
            marks.append(":")
            left.pop(0)
        else:
            marks.append("None")
    return Node("{0:6}[%s]" % ", ".join(marks), [x], shape, x.dtype, binds=POSTFIX)


def index(x, items):
    """x[...] of ints, slices and None for every axis; steps may be negative."""
    marks, shape, axis = [], [], 0
    for item in items:
        if item is None:
            marks.append("None")
            shape.append(1)
            continue
        size = x.shape[axis]
        axis += 1
        if isinstance(item, slice):
            start, stop, step = item.indices(size)
            length = len(range(start, stop, step))
            if length == 0:
                raise Refusal("a part of size 0")
            shape.append(size if length == size else length)
            marks.append(slice_text(start, stop, step, size))
        else:
            at = int(item)
            if not -size <= at < size:
                raise IndexError(f"index {at} is out of bounds for axis of size {size}")
            marks.append(str(at))
    if isinstance(x, Full):
        return Full(shape, x.dtype, x.value)
    if all(m == ":" for m in marks):
        return x
    while marks and marks[-1] == ":" and len(marks) > 1:
        marks.pop()
    return Node("{0:6}[%s]" % ", ".join(marks), [x], shape, x.dtype, binds=POSTFIX)


def slice_text(start, stop, step, size):
    if step == 1:
        return ("" if start == 0 else str(start)) + ":" + ("" if stop >= size else str(stop))
    if step > 0:
        return ("" if start == 0 else str(start)) + ":" + ("" if stop >= size else str(stop)) + f":{step}"
    return ("" if start == size - 1 else str(start)) + ":" + ("" if stop < 0 else str(stop)) + f":{step}"


def transpose(x, order):
    """Axes in another order."""
    order = [int(i) for i in order]
    shape = [x.shape[i] for i in order]
    if order == list(range(len(order))):
        return x
    if isinstance(x, Full):
        return Full(shape, x.dtype, x.value)
    if order == [1, 0]:
        return Node("{0:6}.T", [x], shape, x.dtype, binds=POSTFIX)
    return call("transpose", [x, sizes(order)], shape, x.dtype)


MOST_VALUES = 16  # that a function of the language takes


def concat(parts, axis):
    """Values one behind the other."""
    while len(parts) > 1:
        parts = [join(parts[i : i + MOST_VALUES], axis) for i in range(0, len(parts), MOST_VALUES)]
    return parts[0]


def join(parts, axis):
    if len(parts) == 1:
        return parts[0]
    shape = list(parts[0].shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    return call("concat", parts, shape, parts[0].dtype, axis=axis)


def stack(parts, axis):
    """Values along a new axis."""
    groups = []
    for i in range(0, len(parts), MOST_VALUES):
        some = parts[i : i + MOST_VALUES]
        shape = list(some[0].shape)
        shape.insert(axis, len(some))
        groups.append(call("stack", some, shape, some[0].dtype, axis=axis))
    return concat(groups, axis)
