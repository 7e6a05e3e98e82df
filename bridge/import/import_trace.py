"""The tracer of `hone import`: the user's Python runs with tensors that have a shape and no data.

Every call of PyTorch is seen by a torch function mode (there since 1.13, and the same in 2.x), its name
looked up in a table of functions that add nodes. So control flow of Python that asks for shapes
just runs, and torch.fx, which stops at it, is not needed. Nothing is allocated: a tensor is a
wrapper without storage, whatever its size.

Aliases are kept as PyTorch has them. A view knows its base, how to take it from the base, and how to
put a new value back; a write goes to the base, and what is read later is taken again from there.

Small tensors that follow from nothing but numbers (a window's index table, a mask) are also computed
for real, since modules ask for their elements; the problem still gets the expression.
"""

import sys
import types as python_types

import torch
from torch.overrides import TorchFunctionMode

from import_graph import Draw, Node, Refusal, cast, spread

LARGEST_CONSTANT = 1 << 20

HANDLERS = {}  # "softmax": a function of the tracer's arguments
INIT = {}  # the same for torch.nn.init


def op(*names):
    """Register a function under the names that PyTorch has for it."""

    def register(function):
        for name in names:
            HANDLERS[name] = function
        return function

    return register


class Traced(torch.Tensor):
    """A tensor as the module sees it; `node` is its value now."""

    @staticmethod
    def __new__(cls, node):
        t = torch.Tensor._make_wrapper_subclass(cls, node.shape, dtype=node.dtype, device="cpu")
        t.own = node
        t.base = None
        t.version = 0
        t.const = None
        return t

    def __init__(self, node):
        pass

    def __deepcopy__(self, memo):
        copy = Traced(value(self))
        copy.const = known(self).clone() if known(self) is not None else None
        if getattr(self, "_is_param", False):
            copy._is_param = True
        memo[id(self)] = copy
        return copy

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return Tracer.current.call(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise Refusal(f"{func} is called below what can be traced")


def root(t):
    while t.base is not None:
        t = t.base
    return t


def known(t):
    """Its elements, where they are known: no part of what it shares was written with others."""
    return t.const if root(t).const is not None else None


def value(t):
    """The node of a tensor, taken again where its base was written."""
    if t.base is not None:
        r = root(t)
        if t.version != r.version:
            t.own = t.take(value(t.base))
            t.version = r.version
    return t.own


def write(t, node):
    """A new value for a tensor and for all that share its elements."""
    if t.base is None:
        t.own = node
        t.version += 1
        return
    if t.put is None:
        raise Refusal("a write through this kind of view")
    write(t.base, t.put(value(t.base), node))
    t.own = node
    t.version = root(t).version


def view(base, take, put):
    """A tensor that shares the elements of another."""
    t = Traced(take(value(base)))
    t.base, t.take, t.put = base, take, put
    t.version = root(base).version
    return t


def attributes(func, args, kwargs):
    """What PyTorch itself says of a tensor without data."""
    with torch._C.DisableTorchFunction():
        return func(*args, **kwargs)


PLAIN = {
    "dim", "size", "numel", "nelement", "element_size", "is_contiguous", "stride", "is_floating_point",
    "is_complex", "ndimension", "get_device", "storage_offset", "is_signed", "is_tensor", "is_same_size",
    "_is_view", "_parse_to", "is_storage", "_nested_tensor_size", "is_inference", "_has_names",
}  # fmt: skip


def map_tree(function, tree):
    if isinstance(tree, torch.Tensor):
        return function(tree)
    if isinstance(tree, (list, tuple)):
        items = [map_tree(function, t) for t in tree]
        if hasattr(tree, "_fields"):
            return type(tree)(*items)
        return type(tree)(items) if type(tree) in (list, tuple) else tuple(items)
    if isinstance(tree, dict):
        return {k: map_tree(function, v) for k, v in tree.items()}
    if isinstance(tree, slice):
        return slice(*[map_tree(function, t) for t in (tree.start, tree.stop, tree.step)])
    return tree


def tensors_in(tree):
    found = []
    map_tree(lambda t: found.append(t) or t, tree)
    return found


class Tracer(TorchFunctionMode):
    """The mode. `refused` collects what has no counterpart, with its place."""

    current = None

    def __init__(self, path):
        super().__init__()
        Tracer.current = self
        self.file = path
        self.refused = []
        self.notes = []
        self.modules = []  # paths of the modules that are running, innermost last
        self.forward = False  # is forward running?
        self.draws = []  # what it drew, which are inputs

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.call(func, args, kwargs or {})

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def place(self):
        """The line of the user's file that is running; 0 when none is."""
        frame = sys._getframe(1)
        while frame:
            if frame.f_code.co_filename == self.file:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def refuse(self, what, why):
        where = {"path": self.modules[-1] if self.modules else "", "op": what, "line": self.place(), "why": why}
        if where not in self.refused:
            self.refused.append(where)

    def adopt(self, t):
        """A tensor with data that came about without us, such as torch.Tensor([1, 2])."""
        if isinstance(t, Traced):
            return t
        from import_data import from_data

        traced = Traced(from_data(t))
        traced.const = t if t.numel() <= LARGEST_CONSTANT else None
        return traced

    def call(self, func, args, kwargs):
        name = getattr(func, "__name__", str(func))
        if name in ("__get__", "__set__"):
            return self.attribute(func, name, args)
        if name in PLAIN:
            return attributes(func, args, kwargs)
        if getattr(func, "__module__", "") == "torch.nn.init":
            return self.initialise(func, name, args, kwargs)
        with torch._C.DisableTorchFunction():
            args = map_tree(self.adopt, args)
            kwargs = map_tree(self.adopt, kwargs)
        try:
            return self.handle(func, name, args, kwargs)
        except Refusal as r:
            self.refuse(name, str(r))
            return self.substitute(func, name, args, kwargs)

    def handle(self, func, name, args, kwargs):
        in_place = name.endswith("_") and not name.endswith("__") and not name.startswith("_")
        plain = name.rstrip("_") if in_place else name
        if name.startswith("__i") and name[3:-2] in IN_PLACE_DUNDERS:
            in_place, plain = True, "__" + name[3:]
        handler = HANDLERS.get(name) or HANDLERS.get(plain)
        if handler is None:
            return self.inside(func, name, args, kwargs)
        if kwargs.get("dtype") in PYTHON_TYPES:
            kwargs["dtype"] = PYTHON_TYPES[kwargs["dtype"]]
        constants = self.evaluate(func, args, kwargs)
        in_place = in_place and name not in HANDLERS
        if kwargs.pop("inplace", False):
            in_place = True
        out = kwargs.pop("out", None)
        before = Node.count
        result = handler(self, *args, **kwargs)
        if in_place or out is not None:
            target = out if out is not None else args[0]
            node = value(result) if isinstance(result, Traced) else result
            write(target, self.marked(conform(node, target), before))
            result = target
        return self.wrap(result, constants, before)

    def marked(self, node, before):
        """Say of new nodes where they come from."""
        todo = [node]
        while todo:
            n = todo.pop()
            if n.number > before and not n.line:
                n.line = self.place() or -1
                n.path = self.modules[-1] if self.modules else ""
                todo += n.args
        return node

    def wrap(self, result, constants, before):
        if isinstance(result, Node):
            result = Traced(self.marked(result, before))
        elif isinstance(result, (list, tuple)):
            parts = constants if isinstance(constants, (list, tuple)) else [None] * len(result)
            items = [self.wrap(r, c, before) for r, c in zip(result, parts)]
            return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
        if isinstance(result, Traced):
            self.marked(result.own, before)
            if isinstance(constants, torch.Tensor):
                result.const = constants
        return result

    def evaluate(self, func, args, kwargs):
        """The call with real numbers, where all that it is of is known and small."""
        given = tensors_in([args, kwargs])
        name = getattr(func, "__name__", "")
        if any(known(t) is None for t in given) or name in RANDOM:
            if given and writes(name):
                root(given[0]).const = given[0].const = None
            return None
        if not given and not factory_is_small(name, args, kwargs):
            return None
        try:
            with torch._C.DisableTorchFunction():
                real = map_tree(known, [args, kwargs])
                real[1].pop("device", None)
                result = func(*real[0], **real[1])
        except Exception:
            return None
        if any(t.numel() > LARGEST_CONSTANT for t in tensors_in(result)):
            return None
        return result

    def inside(self, func, name, args, kwargs):
        """A function of PyTorch that is written in Python: what it calls is traced instead."""
        code = getattr(func, "__code__", None)
        if code is None and name not in RANDOM and not tensors_in([args, kwargs]):
            return map_tree(self.adopt, attributes(func, args, kwargs))  # switches: _set_grad_enabled
        if code is None:
            constants = self.evaluate(func, args, kwargs)
            if constants is not None and tensors_in([args, kwargs]) and not tensors_in(constants):
                return constants
            if constants is not None:
                return map_tree(self.adopt, constants)
            raise Refusal("has no counterpart")
        names = dict(func.__globals__)
        for check in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
            names[check] = lambda *a, **k: False
        copy = python_types.FunctionType(code, names, func.__name__, func.__defaults__, func.__closure__)
        copy.__kwdefaults__ = func.__kwdefaults__
        with self:
            return copy(*args, **kwargs)

    def initialise(self, func, name, args, kwargs):
        """torch.nn.init: its functions ask whether there is a torch function before they do anything."""
        if name in INIT:
            return INIT[name](self, *args, **kwargs)
        saved = torch.overrides.has_torch_function_variadic
        torch.overrides.has_torch_function_variadic = lambda *a: False
        try:
            with self:
                return func(*args, **kwargs)
        finally:
            torch.overrides.has_torch_function_variadic = saved

    def attribute(self, func, name, args):
        which = getattr(getattr(func, "__self__", None), "__name__", "")
        if name == "__set__":
            if which == "data":
                write(args[0], conform(value(self.adopt(args[1])), args[0]))
            elif which in ("requires_grad", "grad"):
                pass
            else:
                self.refuse(f"Tensor.{which} = ...", "cannot be set")
            return None
        if which in ("T", "mT", "H", "mH"):
            return self.call(HANDLER_OF_ATTRIBUTE[which], args, {})
        if which in ("data", "real"):
            return self.call(HANDLER_OF_ATTRIBUTE["data"], args, {})
        if which in ("grad", "grad_fn", "_grad", "_backward_hooks"):
            return None
        if which in ("requires_grad", "is_leaf"):
            return which == "is_leaf"
        return attributes(func, args, {})

    def substitute(self, func, name, args, kwargs):
        """Stand-ins for the results of what was refused, so that what comes behind is looked at too."""
        try:
            with torch._C.DisableTorchFunction():
                meta = map_tree(lambda t: torch.empty(t.shape, dtype=t.dtype, device="meta"), [args, kwargs])
                result = func(*meta[0], **meta[1])
                return map_tree(lambda t: Traced(Draw(tuple(t.shape), t.dtype, "normal")), result)
        except Exception:
            raise Stopped() from None


def writes(name):
    return name.endswith("_") and not name.endswith("__") or name == "__setitem__" or name.startswith("__i")


class Stopped(Exception):
    """Something was refused, and its result's shape is unknown: tracing ends there."""


PYTHON_TYPES = {bool: torch.bool, int: torch.int64, float: torch.float64}
IN_PLACE_DUNDERS = {"add", "sub", "mul", "truediv", "div", "floordiv", "mod", "pow", "and", "or", "xor"}
RANDOM = {
    "rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "normal", "uniform_", "normal_",
    "bernoulli", "bernoulli_", "random_", "randperm", "exponential_", "multinomial", "dropout", "empty",
    "empty_like", "new_empty", "trunc_normal_", "rrelu",
}  # fmt: skip
FACTORIES = {"zeros", "ones", "full", "arange", "linspace", "eye", "tensor", "as_tensor", "logspace", "scalar_tensor",
             "tril_indices", "triu_indices", "hann_window", "hamming_window"}  # fmt: skip


def factory_is_small(name, args, kwargs):
    """Is it a factory whose result is worth computing? Sizes are looked at before anything is made."""
    if name not in FACTORIES:
        return False
    if name in ("tensor", "as_tensor"):
        return True
    total = 1
    flat = list(args) + [v for k, v in kwargs.items() if k in ("size", "end", "n", "m", "steps")]
    for a in flat:
        for s in a if isinstance(a, (list, tuple)) else [a]:
            if isinstance(s, (int, float)) and not isinstance(s, bool):
                total *= max(abs(s), 1)
    return total <= LARGEST_CONSTANT


def conform(node, target):
    """What is written into a tensor gets its shape and type."""
    return spread(cast(node, target.dtype), target.shape)


# Methods that attributes stand for.
HANDLER_OF_ATTRIBUTE = {
    "T": torch.Tensor.t,
    "H": torch.Tensor.t,
    "mT": torch.Tensor.adjoint,
    "mH": torch.Tensor.adjoint,
    "data": torch.Tensor.detach,
    "real": torch.Tensor.detach,
}
