"""compare.py REFERENCE DIR CASES...: the interpreter against NumPy and PyTorch.

REFERENCE is build/reference, DIR an empty directory. Each file of CASES defines `cases`: a list of
(name, statements, function). The statements are the body of a problem; the function takes the
inputs as float64 (or int64, bool) tensors by name and returns the outputs, in order. The value must
agree to 1e-11 of the largest element, and the honest reading must lie within 40 spreads of it.
"""

import importlib.util
import inspect
import subprocess
import sys

import numpy as np
import torch

RELATIVE = 1e-11
SPREADS = 40


def load(path):
    spec = importlib.util.spec_from_file_location("cases", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.cases


def read(fields, suffix=""):
    name, kind, path, *sizes = fields
    shape = [int(s) for s in sizes]
    array = np.fromfile(path + suffix, dtype=np.float64).reshape(shape)
    return name, kind, array


def tensor(kind, array):
    if kind == "bool":
        return torch.tensor(array != 0)
    whole = kind[0] in "iu"
    return torch.tensor(array.astype(np.int64) if whole else array)


def differs(got, want):
    """Why the arrays differ, or None."""
    if list(got.shape) != list(want.shape):
        return f"shape {list(got.shape)}, not {list(want.shape)}"
    if not np.array_equal(np.isnan(got), np.isnan(want)):
        return "NaN in other places"
    got, want = np.nan_to_num(got, posinf=9e99, neginf=-9e99), np.nan_to_num(want, posinf=9e99, neginf=-9e99)
    if got.size == 0:
        return None
    largest = np.abs(want[np.abs(want) < 1e99]).max(initial=1e-30)
    error = np.abs(got - want)
    if error.max() <= RELATIVE * largest:
        return None
    at = np.unravel_index(error.argmax(), error.shape)
    return f"at {tuple(int(i) for i in at)}: {got[at]!r}, not {want[at]!r}"


def strays(value, honest, spread):
    """Is the honest reading too far from the value?"""
    finite = np.isfinite(value) & np.isfinite(honest) & np.isfinite(spread)
    error = np.abs(honest[finite] - value[finite])
    allowed = SPREADS * spread[finite] + 1e-30
    if (error <= allowed).all():
        return None
    i = (error / allowed).argmax()
    return f"honest reading strays by {error[i]:.3g} where one spread is {spread[finite][i]:.3g}"


def check(name, function, inputs, outputs):
    args = {n: tensor(k, a) for n, k, a in inputs}
    wanted = list(inspect.signature(function).parameters)
    want = function(*[args[n] for n in wanted])
    want = want if isinstance(want, (tuple, list)) else (want,)
    if len(want) != len(outputs):
        return [f"{name}: {len(outputs)} outputs, not {len(want)}"]
    found = []
    for fields, w in zip(outputs, want):
        out, _, value = read(fields)
        w = torch.as_tensor(w).to(torch.float64).numpy()
        why = differs(value, w)
        if not why:
            why = strays(value, read(fields, ".honest")[2], read(fields, ".spread")[2])
        if why:
            found.append(f"{name}: {out}: {why}")
    return found


def main():
    reference, directory, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    cases = [case for path in files for case in load(path)]
    source = directory + "/cases.hone"
    with open(source, "w") as f:
        for name, text, _ in cases:
            f.write(f"problem {name}\n{text.strip()}\n\n")
    done = subprocess.run([reference, source, directory], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"compare: reference ended with {done.returncode}")
    results, current = {}, None
    for line in done.stdout.splitlines():
        word, *fields = line.split(" ")
        if word == "problem":
            current = results[fields[0]] = {"in": [], "out": []}
        elif word == "in":
            current["in"].append(read(fields))
        elif word == "out":
            current["out"].append(fields)
        else:
            sys.exit("compare: " + line)
    mistakes = []
    for name, _, function in cases:
        r = results[name]
        mistakes += check(name, function, r["in"], r["out"])
    for m in mistakes:
        print(m)
    print(f"{len(cases)} cases, {len(mistakes)} differ")
    sys.exit(1 if mistakes else 0)


main()
