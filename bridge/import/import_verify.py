"""`hone import --verify`: PyTorch's own answer to the inputs that hone drew, next to the interpreter's.

The module is made again with real tensors and computes in float64, where the types allow it, so that
what is compared is the mathematics and not rounding. Sizes are made small first (small_sizes): the
problem that is compared is the import of the same file with smaller numbers at its top.
"""

import copy

import torch

import import_model
import import_source

# Of the largest element, in float64: the language rounds numbers in the text to f32, PyTorch does not.
RELATIVE = 1e-6
SPREADS = 60  # of honest rounding, where that allows more: numbers in the text, types below f64
MOST_WORK = 3e8  # multiplications and additions that the interpreter does in some seconds
STEPS = (2, 4, 8, 16, 32, 64, 128)


# ---- small sizes


def work_of(nodes):
    """About how much there is to compute, and a large number where something is too large to hold."""
    total = 0
    for n in nodes:
        size = 1
        for s in n.shape:
            size *= s
        inner = 1
        text = n.text
        if n.kind == "call" and n.args and ("@" in text or text.startswith(("linear", "einsum", "attention", "causal"))):
            inner = n.args[0].shape[-1] if n.args[0].shape else 1
        if n.kind == "call" and text.startswith("conv"):
            w = n.args[1].shape
            inner = 1
            for s in w[1:]:
                inner *= s
        if n.kind == "loop":
            inner = 8 * n.shape[-1]
        total += size * inner
    return total


def attempt(request, given):
    """The import with these sizes and its work; None where the module does not take them."""
    work = import_model.Import(request["file"], request.get("class", ""), given, request.get("eval", False), request.get("reserved", []))
    try:
        text = work.trace()
    except Exception:
        return None
    return work, text, work_of(work.nodes)


def small_sizes(request):
    """Numbers at the top of the file made smaller, one after the other, until it is quickly computed."""
    given = dict(request.get("set", {}))
    best = attempt(request, given)
    if best is None:
        return None, given
    for name in import_source.sizes_used(request["file"], best[0].module):
        value = getattr(best[0].module, name)
        if best[2] <= MOST_WORK / 100 or name in request.get("set", {}):
            continue
        for smaller in (s for s in STEPS if s < value):
            tried = attempt(request, {**given, name: smaller})
            if tried and tried[2] < best[2]:
                best, given = tried, {**given, name: smaller}
                break
    return best, given


# ---- PyTorch's answer


def read(entry):
    """What hone wrote: float64, in row-major order."""
    import array

    values = array.array("d")
    with open(entry["path"], "rb") as f:
        values.frombytes(f.read())
    t = torch.tensor(values, dtype=torch.float64) if len(values) else torch.zeros(0, dtype=torch.float64)
    return t.reshape(entry["shape"])


def kind_of(entry, wide):
    name = entry["type"]
    if name == "bool":
        return torch.bool
    if name in ("f32", "f64"):
        return torch.float64 if wide else torch.float32
    return {"f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32, "i8": torch.int8, "u8": torch.uint8}[name]


def tensor(entry, wide):
    values = read(entry)
    kind = kind_of(entry, wide)
    return values != 0 if kind is torch.bool else values.to(kind)


def put(tree, path, value):
    """The same tree of arguments with one leaf replaced."""
    if not path:
        return value
    if isinstance(tree, dict):
        return {k: put(v, path[1:], value) if k == path[0] else v for k, v in tree.items()}
    items = [put(v, path[1:], value) if i == path[0] else v for i, v in enumerate(tree)]
    return tuple(items) if isinstance(tree, tuple) else items


class NoChance:
    """Dropout does nothing, and what forward() draws are inputs of the problem, in their order."""

    def __init__(self, draws):
        self.draws = draws
        self.saved = []

    def replace(self, owner, name, function):
        self.saved.append((owner, name, getattr(owner, name)))
        setattr(owner, name, function)

    def __enter__(self):
        functional = torch.nn.functional
        for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
            if hasattr(functional, name):
                self.replace(functional, name, lambda input, *args, **kwargs: input)
        if self.draws:
            left = iter(self.draws)
            for name in ("rand", "randn", "randint", "rand_like", "randn_like", "normal"):
                self.replace(torch, name, lambda *args, **kwargs: next(left))

    def __exit__(self, *error):
        for owner, name, function in reversed(self.saved):
            setattr(owner, name, function)


def still(model):
    for m in model.modules():
        if hasattr(m, "dropout") and isinstance(m.dropout, float):
            m.dropout = 0.0


def compute(request, wide):
    """The module's outputs, in order."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64 if wide else torch.float32)
    module = import_source.run(request["file"], request["set"])
    model = import_source.model_of(module, request.get("class", ""))
    model = model.double() if wide else model
    if request.get("eval"):
        model.eval()
    still(model)
    positional, named = import_source.inputs_of(module)
    draws, modules = [], dict(model.named_modules())
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    with torch.no_grad():
        for entry in request["inputs"]:
            origin, t = entry["origin"], tensor(entry, wide)
            if origin[0] in ("parameter", "buffer"):
                state[origin[1]].copy_(t)
            elif origin[0] == "attribute":
                setattr(modules[origin[1]], origin[2], t)
            elif origin[0] == "draw":
                draws.append((origin[1], t))
            elif isinstance(origin[1], int):
                positional = put(positional, origin[1:], t)
            else:
                named = put(named, origin[1:], t)
        draws = [t for _, t in sorted(draws, key=lambda d: d[0])]
        widen = (lambda t: t.double() if wide and t.is_floating_point() else t)
        positional, named = import_model.map_tree(widen, [positional, named])
        with NoChance(draws):
            result = model(*copy.copy(positional), **named)
    return import_model.flat(result)


def difference(got, entry, wide):
    """How far apart they are, and why that is too far, or None."""
    want = read(entry)
    got = got.detach().to(torch.float64)
    if list(got.shape) != list(want.shape):
        return None, f"shape {list(got.shape)} in PyTorch, {list(want.shape)} here"
    if not torch.equal(torch.isnan(got), torch.isnan(want)):
        return None, "NaN in other places"
    got, want = [torch.nan_to_num(t, 0.0, 9e99, -9e99) for t in (got, want)]
    if got.numel() == 0:
        return 0.0, None
    error = (got - want).abs()
    finite = want[want.abs() < 1e99]
    largest = max(float(finite.abs().max()) if finite.numel() else 0.0, 1e-30)
    relative = float(error.max()) / largest
    if wide and relative <= RELATIVE:
        return relative, None
    spread = torch.nan_to_num(read({**entry, "path": entry["path"] + ".spread"}), 0.0)
    if bool((error <= SPREADS * spread + 1e-30).all()):
        return relative, None
    at = int(error.argmax())
    place = [int(i) for i in torch.nonzero(error == error.reshape(-1)[at])[0]]
    return relative, f"at {place}: {float(got.reshape(-1)[at]):.9g} in PyTorch, {float(want.reshape(-1)[at]):.9g} here"


def verify(request):
    narrow = any(e["type"] in ("f16", "bf16") for e in request["inputs"] + request["outputs"])
    wide = not narrow
    try:
        results = compute(request, wide)
    except RuntimeError:
        if not wide:
            raise
        wide = False  # the file insists on a type of its own
        results = compute(request, wide)
    outputs, ok = [], len(results) == len(request["outputs"])
    for entry, got in zip(request["outputs"], results):
        relative, why = difference(got, entry, wide)
        ok = ok and why is None
        outputs.append({"name": entry["name"], "difference": relative, "why": why})
    return {"status": "ok", "equal": ok, "precision": "f64" if wide else "f32", "outputs": outputs}
