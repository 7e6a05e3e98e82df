"""The user's file: run it, find the module and its inputs, and remember what its sizes are called.

Two conventions: KernelBench's (class Model, get_init_inputs(), get_inputs()), and a plain file that has
a module as `model` and its inputs as `example_inputs`.
"""

import ast
import inspect
import sys
import types

import torch

from import_graph import Size


class Problem(Exception):
    """The file is not what can be imported; the message is for the user."""


class Misuse(Problem):
    """What was asked for on the command line is not in the file."""


def labelled(name, value, given):
    """A number of the file's, or the one given for it, under its name; so too the only one of a tuple."""
    if type(value) is tuple and len(value) == 1 and type(value[0]) in (int, float):
        return (labelled(name, value[0], given),)
    if name in given:
        if type(value) not in (int, float):
            raise Misuse(f"--set {name}: the file has no number there, but {str(value)[:40]}")
        value = type(value)(given[name])
    return Size(value, name) if type(value) is int and value > 0 else value


class Label(ast.NodeTransformer):
    """NAME = 16 at the top of the file becomes NAME = label("NAME", 16)."""

    def __init__(self):
        self.names = []

    def visit_FunctionDef(self, node):
        return node

    visit_ClassDef = visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_Assign(self, node):
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            self.names.append(name)
            call = ast.Call(ast.Name("__label__", ast.Load()), [ast.Constant(name), node.value], [])
            node.value = ast.copy_location(call, node.value)
        return node


def run(path, given):
    """The file as a module. `given` replaces numbers that it assigns at its top."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    tree = ast.parse(text, path)
    label = Label()
    tree = ast.fix_missing_locations(label.visit(tree))
    unknown = [n for n in given if n not in label.names]
    if unknown:
        raise Misuse(f"--set {unknown[0]}: the file assigns no number to it at its top")
    module = types.ModuleType("imported")
    module.__file__ = path
    module.__dict__["__label__"] = lambda name, value: labelled(name, value, given)
    sys.modules["imported"] = module
    exec(compile(tree, path, "exec"), module.__dict__)
    return module


def model_of(module, name):
    """The module to trace: the class's instance, or the one that the file has."""
    classes = {
        k: v
        for k, v in vars(module).items()
        if inspect.isclass(v) and issubclass(v, torch.nn.Module) and v.__module__ == "imported"
    }
    found = None
    if name:
        found = classes.get(name) or getattr(module, name, None)
        if found is None:
            raise Misuse(f"no class or module is called '{name}'; there are: {', '.join(classes) or 'none'}")
    elif "Model" in classes:
        found = classes["Model"]
    elif isinstance(getattr(module, "model", None), torch.nn.Module):
        found = module.model
    elif len(classes) == 1:
        found = next(iter(classes.values()))
    else:
        raise Problem("no class Model(nn.Module) and no module called model" + (f"; name one with --class: {', '.join(classes)}" if classes else ""))
    if inspect.isclass(found):
        arguments = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        found = found(**arguments) if isinstance(arguments, dict) else construct(found, arguments)
    if not isinstance(found, torch.nn.Module):
        raise Problem(f"'{name}' is no torch.nn.Module")
    return found


def construct(cls, arguments):
    """KernelBench also has [[positional], {keywords}]."""
    arguments = list(arguments)
    if len(arguments) == 2 and isinstance(arguments[0], list) and isinstance(arguments[1], dict):
        return cls(*arguments[0], **arguments[1])
    return cls(*arguments)


def inputs_of(module):
    """Positional inputs and those by name."""
    found = module.get_inputs() if hasattr(module, "get_inputs") else getattr(module, "example_inputs", None)
    if found is None:
        raise Problem("no get_inputs() and no example_inputs, so the shapes of the inputs are unknown")
    if isinstance(found, torch.Tensor):
        found = [found]
    if isinstance(found, dict):
        return [], found
    if not isinstance(found, (list, tuple)):
        raise Problem(f"the inputs are a {type(found).__name__}, not tensors in a list")
    return list(found), {}


def size_of(module, name):
    """A whole number at the top of the file; None where there is something else."""
    value = getattr(module, name, None)
    value = value[0] if type(value) is tuple and len(value) == 1 else value
    return int(value) if isinstance(value, Size) else None


def sizes_used(path, module):
    """Whole numbers at the top of the file, largest first: what `--verify` may make smaller."""
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read(), path)
    names = [n.targets[0].id for n in tree.body if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]
    names = [n for n in dict.fromkeys(names) if size_of(module, n)]
    return sorted(names, key=lambda n: -size_of(module, n))
