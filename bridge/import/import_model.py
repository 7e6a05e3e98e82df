"""From a file to a problem: trace the module's constructor, its inputs and its forward()."""

import inspect
import os
import re

import torch

import import_data  # noqa: F401  the tables of functions fill themselves
import import_layers  # noqa: F401
import import_lookup  # noqa: F401
import import_moves  # noqa: F401
import import_pointwise  # noqa: F401
import import_recur  # noqa: F401
import import_reduce  # noqa: F401
import import_source
from import_graph import Draw, Full, Leaf, Node, Refusal
from import_text import Writer
from import_trace import Stopped, Traced, Tracer, known, map_tree, root, value

# What a parameter that begins as a constant is drawn around: a kernel that left it out would be right
# for the constant, and wrong for every trained network.
AROUND = 0.1


class Refused(Exception):
    def __init__(self, nodes):
        super().__init__("refused")
        self.nodes = nodes


def fold_draw(n):
    """uniform * 2 - 1 is a uniform: a distribution for simple arithmetic on one draw."""
    if isinstance(n, Draw):
        return n.distribution, n.numbers
    match = re.fullmatch(r"(\{0:\d\}|-?[\d.e-]+) ([+*/-]) (\{0:\d\}|-?[\d.e-]+)", n.text)
    if not match or len(n.args) != 1 or n.args[0].shape != n.shape or n.args[0].dtype != n.dtype:
        return None
    inner = fold_draw(n.args[0])
    if not inner or inner[0] not in ("uniform", "normal"):
        return None
    a, sign, b = match.groups()
    first = a.startswith("{")
    c = float(b if first else a)
    if sign == "/" and not first or sign == "-" and not first and False:
        return None
    scale = {"*": c, "/": 1 / c if c else 0, "+": 1, "-": 1 if first else -1}[sign]
    shift = {"*": 0, "/": 0, "+": c, "-": -c if first else c}[sign]
    x, y = inner[1]
    if inner[0] == "normal":
        return "normal", (x * scale + shift, abs(y * scale))
    return "uniform", tuple(sorted((x * scale + shift, y * scale + shift)))


def drawn(n):
    """How an input or a parameter comes about, as one draw where that can be said."""
    folded = fold_draw(n)
    if folded and folded[0] not in ("normal", "uniform") or isinstance(n, Draw):
        return n
    if not folded:
        return n
    return Draw(n.shape, n.dtype, *folded)


def constant(n):
    """Draws around the constant that a parameter begins as."""
    c = float(n.value)
    return Draw(n.shape, n.dtype, "uniform", (round(c - AROUND, 9), round(c + AROUND, 9)))


def has_draw(n, seen=None):
    seen = set() if seen is None else seen
    if n.number in seen:
        return False
    seen.add(n.number)
    return isinstance(n, Draw) or any(has_draw(a, seen) for a in n.args)


def named_results(tree, name="y"):
    """The tensors of what forward() returns: y; y1, y2, ... of a tuple; the keys of a dict."""
    if isinstance(tree, torch.Tensor):
        return [(name, tree)]
    if isinstance(tree, dict):
        return [r for k, v in tree.items() for r in named_results(v, str(k))]
    if isinstance(tree, (list, tuple)):
        alone = len(tree) == 1
        return [r for i, v in enumerate(tree) for r in named_results(v, name if alone else f"{name}{i + 1}")]
    return []


def flat(tree):
    return [t for _, t in named_results(tree)]


class Import:
    """One file, one problem."""

    def __init__(self, path, class_name="", given=None, evaluate=False, reserved=()):
        self.path = os.path.abspath(path)
        self.class_name, self.given, self.evaluate = class_name, given or {}, evaluate
        self.reserved = reserved
        self.leaves = []

    def leaf(self, t, name, is_param, origin, source=None):
        source = source if source is not None else drawn(value(t))
        real = known(t)
        if is_param and real is not None and not has_draw(source):
            source = Full(source.shape, source.dtype, float(real.double().mean()))
        if isinstance(source, Full) and source.dtype.is_floating_point and is_param:
            source = constant(source)
        n = Leaf(source, name, is_param, source)
        n.origin = origin
        r = root(t)
        if r is t:
            t.own = n
        else:
            t.base, t.own = None, n
        t.const = None
        t.version += 1
        self.leaves.append(n)
        return n

    def parameters(self, model):
        """Parameters become inputs under their names, as do statistics and what the constructor drew."""
        for name, p in model.named_parameters():
            if isinstance(p, Traced):
                self.leaf(p, name, True, ["parameter", name])
        for name, b in model.named_buffers():
            if not isinstance(b, Traced) or not b.own.dtype.is_floating_point:
                continue
            statistics = name.split(".")[-1] in ("running_mean", "running_var")
            if has_draw(value(b)) or statistics and isinstance(value(b), Full):
                self.leaf(b, name, True, ["buffer", name])
        for path, m in model.named_modules():
            for key, t in list(vars(m).items()):
                if isinstance(t, Traced) and not isinstance(t, torch.nn.Parameter) and has_draw(value(t)) and t.own.kind != "leaf":
                    self.leaf(t, f"{path}.{key}" if path else key, True, ["attribute", path, key])

    def arguments(self, model, positional, named):
        """Tensors among the arguments become inputs; all else is a number of the problem."""
        try:
            known_names = [p for p in inspect.signature(model.forward).parameters]
        except (TypeError, ValueError):
            known_names = []

        def named_input(tree, name, origin):
            if isinstance(tree, torch.Tensor):
                t = self.tracer.adopt(tree)
                if t.own.kind == "leaf":
                    return t
                fresh = Traced(value(t))
                self.leaf(fresh, name, False, origin, drawn(value(t)))
                return fresh
            if isinstance(tree, (list, tuple)):
                return type(tree)(named_input(v, f"{name}_{i}", origin + [i]) for i, v in enumerate(tree))
            if isinstance(tree, dict):
                return {k: named_input(v, f"{name}_{k}", origin + [k]) for k, v in tree.items()}
            return tree

        names = known_names + [f"x{i}" for i in range(len(positional))]
        args = [named_input(v, names[i], ["input", i]) for i, v in enumerate(positional)]
        words = {k: named_input(v, k, ["input", k]) for k, v in named.items()}
        return args, words

    def watch(self, model):
        """Modules say where they are, for names and for refusals."""
        paths = {id(m): path for path, m in model.named_modules()}
        tracer, original = self.tracer, torch.nn.Module.__call__

        def call(module, *args, **kwargs):
            tracer.modules.append(paths.get(id(module), tracer.modules[-1] if tracer.modules else ""))
            try:
                return original(module, *args, **kwargs)
            finally:
                tracer.modules.pop()

        torch.nn.Module.__call__ = call
        return original

    def results(self, tree):
        """Output names and nodes."""
        found = [(name, value(self.tracer.adopt(t))) for name, t in named_results(tree)]
        if not found:
            raise import_source.Problem("forward() returns no tensor")
        return found

    def trace(self):
        """The problem's text; Refused with all that has no counterpart."""
        try:
            return self.traced()
        except Stopped:
            self.tracer.refused[-1]["last"] = True
            raise Refused(self.tracer.refused) from None

    def traced(self):
        self.tracer = tracer = Tracer(self.path)
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        with tracer:
            self.module = module = import_source.run(self.path, self.given)
            self.model = model = import_source.model_of(module, self.class_name)
            if self.evaluate:
                model.eval()
            positional, named = import_source.inputs_of(module)
        self.parameters(model)
        args, words = self.arguments(model, positional, named)
        saved = self.watch(model)
        tracer.forward = True
        try:
            with tracer:
                outputs = model(*args, **words)
        finally:
            torch.nn.Module.__call__ = saved
        if tracer.refused:
            raise Refused(tracer.refused)
        outputs = self.results(outputs)
        return self.text(outputs)

    def text(self, outputs):
        stem = os.path.splitext(os.path.basename(self.path))[0]
        comments = [f"Imported from {os.path.basename(self.path)}."]
        comments += [f"Not as in PyTorch: {n}." for n in self.tracer.notes]
        title = re.sub(r"_+", "_", re.sub(r"\W", "_", re.sub(r"^\d+_", "", stem))).strip("_").lower()
        writer = Writer(title or "model", outputs, self.leaves + self.tracer.draws, self.reserved, comments)
        text = writer.write()
        self.inputs = [{"name": writer.names_of[n.number], "origin": n.origin} for n in writer.in_leaves]
        self.outputs = writer.out_names
        self.nodes = writer.reachable()
        return text


__all__ = ["Node", "Refusal", "map_tree"]
