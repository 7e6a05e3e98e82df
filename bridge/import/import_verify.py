"""`hone import --verify`: PyTorch's own answer to the inputs that hone drew, next to the interpreter's.

The module is made again with real tensors and computes in float64, where the types allow it, so that
what is compared is the mathematics and not rounding. Sizes are made small first (small_sizes): the
problem that is compared is the import of the same file with smaller numbers at its top.
"""

import time

import torch

import import_model
import import_source

# Of the largest element, in float64: the language rounds numbers in the text to f32, PyTorch does not.
RELATIVE = 1e-6
# What a module makes of such a rounding is seen by running it in f32 too: so many times as far off as
# PyTorch itself is then. Where that is more than a percent, nothing can be said.
TIMES_F32 = 4
MOST_F32 = 1e-2
SPREADS = 60  # of honest rounding, where PyTorch rounds to 16 bits as well
MOST_WORK = 4e9  # multiplications that the interpreter does in about a minute
LITTLE_WORK = 2e8  # below which nothing more is made smaller
ELEMENT = 50  # an element that is computed counts as so many multiplications
STEPS = (64, 16, 8, 4, 2)
SEARCH_S = 60


# ---- small sizes


def work_of(nodes):
    """About how much there is to compute, and a large number where something is too large to hold."""
    total = 0
    for n in nodes:
        size = 1
        for s in n.shape:
            size *= s
        inner = ELEMENT
        text = n.text
        if n.kind == "call" and n.args and ("@" in text or text.startswith(("linear", "einsum", "attention", "causal"))):
            inner += n.args[0].shape[-1] if n.args[0].shape else 1
        if n.kind == "call" and text.startswith("conv"):
            w = n.args[1].shape
            each = 1
            for s in w[1:]:
                each *= s
            inner += each
        if n.kind == "loop":
            inner = 8 * n.shape[-1] + ELEMENT
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
    """Numbers at the top of the file made smaller, all of them alike, until it is quickly computed.

    Those of one value first go together, since they may have to be equal; then each by itself.
    """
    given, end = dict(request.get("set", {})), time.monotonic() + SEARCH_S
    best = attempt(request, given)
    if best is None:
        return None, given
    names = [n for n in import_source.sizes_used(request["file"], best[0].module) if n not in given]
    value = {n: import_source.size_of(best[0].module, n) for n in names}
    alike = [[n for n in names if value[n] == v] for v in dict.fromkeys(value.values())]
    groups = [g for g in alike if len(g) > 1] + [[n] for n in names]
    for step in STEPS:
        for group in groups:
            if best[2] <= LITTLE_WORK or time.monotonic() > end:
                break
            larger = [n for n in group if given.get(n, value[n]) > step]
            tried = larger == group and attempt(request, {**given, **{n: step for n in group}})
            if tried and tried[2] < best[2]:
                best, given = tried, {**given, **{n: step for n in group}}
    if best[2] > MOST_WORK:
        raise import_source.Problem(
            f"--verify: about {best[2]:.1g} operations are too many to interpret, and no number at the top of the file"
            " makes them fewer; name smaller ones with --set"
        )
    return best, given


def small(request):
    """The problem to compare: its text, where its inputs are in the module, the sizes."""
    best, given = small_sizes(request)
    if best is None:
        raise import_source.Problem("--verify: it cannot be imported a second time")
    return {"text": best[1], "inputs": best[0].inputs, "set": given}


# ---- PyTorch's answer


def read(entry):
    """What hone wrote: float64, in row-major order."""
    with open(entry["path"], "rb") as f:
        content = bytearray(f.read())
    t = torch.frombuffer(content, dtype=torch.float64) if content else torch.zeros(0, dtype=torch.float64)
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


class Replaced:
    """Names of PyTorch that mean something else for a while."""

    def __init__(self):
        self.saved = []

    def replace(self, owner, name, function):
        self.saved.append((owner, name, getattr(owner, name)))
        setattr(owner, name, function)

    def widen(self):
        """What the file makes f32 by name stays f64."""
        self.replace(torch.Tensor, "float", torch.Tensor.double)
        for name in ("float32", "float"):
            self.replace(torch, name, torch.float64)

    def leave_nothing_to_chance(self, draws):
        """Dropout does nothing, and what forward() draws are inputs of the problem, in their order."""
        functional = torch.nn.functional
        for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
            if hasattr(functional, name):
                self.replace(functional, name, lambda input, *args, **kwargs: input)
        left = iter(draws)
        for name in ("rand", "randn", "randint", "rand_like", "randn_like", "normal") if draws else ():
            self.replace(torch, name, lambda *args, **kwargs: next(left))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for owner, name, function in reversed(self.saved):
            setattr(owner, name, function)


def still(model):
    for m in model.modules():
        if hasattr(m, "dropout") and isinstance(m.dropout, float):
            m.dropout = 0.0


def arguments(request, model, module, wide):
    """The inputs that hone drew, where the module has them: its state, its arguments, its draws."""
    positional, named = import_source.inputs_of(module)
    draws, modules = [], dict(model.named_modules())
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
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
    widened = (lambda t: t.double() if wide and t.is_floating_point() else t)
    positional, named = import_model.map_tree(widened, [positional, named])
    return positional, named, [t for _, t in sorted(draws, key=lambda d: d[0])]


def compute(request, wide):
    """The module's outputs, in order."""
    torch.manual_seed(0)
    with torch.no_grad(), Replaced() as names:
        torch.set_default_dtype(torch.float64 if wide else torch.float32)
        if wide:
            names.widen()
        module = import_source.run(request["file"], request["set"])
        model = import_source.model_of(module, request.get("class", ""))
        model = model.double() if wide else model
        if request.get("eval"):
            model.eval()
        still(model)
        positional, named, draws = arguments(request, model, module, wide)
        names.leave_nothing_to_chance(draws)
        return import_model.flat(model(*positional, **named))


def apart(got, want):
    """The largest difference as a part of the largest element, and where it is."""
    got, want = [torch.nan_to_num(t.detach().to(torch.float64), 0.0, 9e99, -9e99) for t in (got, want)]
    error = (got - want).abs()
    finite = want[want.abs() < 1e99]
    largest = max(float(finite.abs().max()) if finite.numel() else 0.0, 1e-30)
    at = int(error.argmax())
    place = [int(i) for i in torch.nonzero(error == error.reshape(-1)[at])[0]]
    shown = f"at {place}: {float(got.reshape(-1)[at]):.9g} in PyTorch, {float(want.reshape(-1)[at]):.9g} here"
    return float(error.max()) / largest, error, shown


def difference(got, entry, wide, narrow):
    """How far apart they are, and why that is too far, or None. `narrow()` is the same output in f32."""
    want = read(entry)
    if list(got.shape) != list(want.shape):
        return None, f"shape {list(got.shape)} in PyTorch, {list(want.shape)} here"
    if not torch.equal(torch.isnan(got), torch.isnan(want)):
        return None, "NaN in other places"
    if got.numel() == 0:
        return 0.0, None
    relative, error, shown = apart(got, want)
    if not wide:
        spread = torch.nan_to_num(read({**entry, "path": entry["path"] + ".spread"}), 0.0)
        equal = relative <= RELATIVE or bool((error <= SPREADS * spread + 1e-30).all())
        return relative, None if equal else shown
    if relative <= RELATIVE:
        return relative, None
    itself = apart(narrow(), got)[0]
    if itself > MOST_F32:
        return relative, f"{shown}; but PyTorch in f32 is off by {itself:.2g} itself: choose other sizes with --set"
    return relative, None if relative <= TIMES_F32 * itself else shown


def verify(request):
    halves = any(e["type"] in ("f16", "bf16") for e in request["inputs"] + request["outputs"])
    wide, in_f32 = not halves, []
    try:
        results = compute(request, wide)
    except RuntimeError:
        if not wide:
            raise
        wide = False  # the file insists on a type of its own
        results = compute(request, wide)

    def narrow(i):
        if not in_f32:
            in_f32.extend(compute(request, False))
        return in_f32[i]

    outputs, ok = [], len(results) == len(request["outputs"])
    for i, (entry, got) in enumerate(zip(request["outputs"], results)):
        relative, why = difference(got, entry, wide, lambda i=i: narrow(i))
        ok = ok and why is None
        outputs.append({"name": entry["name"], "difference": relative, "why": why})
    return {"status": "ok", "equal": ok, "precision": "f64" if wide else "f32", "outputs": outputs}
