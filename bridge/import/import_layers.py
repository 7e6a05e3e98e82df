"""Convolutions, pools, normalisations, attention and losses: torch.nn.functional."""

import torch

from import_graph import ADD, ATOM, MULTIPLY, COMPARE, Full, Node, Refusal, broadcast, call, cast, concat, index, natural_type, reshape, sizes, spread, transpose
from import_moves import axis_of, count_of, narrow_node, pad as pad_op, take
from import_pointwise import arithmetic, by_element, node
from import_reduce import product, reduce, soft, whole
from import_trace import known, op


def tuple_of(value, n):
    return tuple(value) * (n if len(value) == 1 else 1) if isinstance(value, (tuple, list)) else (value,) * n


def option(value, n, default):
    """sizes as text, one number where they are alike; None where it is the default."""
    value = tuple_of(value, n)
    if all(v == default for v in value):
        return None
    return str(int(value[0])) if len(set(value)) == 1 else sizes(value)


def options(n, **given):
    """Words of a window's function that differ from their defaults: name=(value, default)."""
    words = {}
    for name, (value, default) in given.items():
        if isinstance(value, str):
            words[name] = f'"{value}"'
        elif option(value, n, default) is not None:
            words[name] = option(value, n, default)
    return words


def batched(x, n, function):
    """A window's function of x, which may lack the batch."""
    if len(x.shape) == n + 1:
        y = function(reshape(x, (1,) + x.shape))
        return index(y, [0] + [slice(None)] * (n + 1))
    return function(x)


def channels(name, x, want, groups=1, of_groups=0):
    """PyTorch's own checks, since sizes may be given from outside."""
    if x.shape[1] != want:
        raise RuntimeError(f"{name}: {int(want)} channels are expected, not {int(x.shape[1])}")
    if of_groups % groups:
        raise RuntimeError(f"{name}: {int(of_groups)} channels are not divisible by {groups} groups")


def convolution(n):
    def function(tr, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        w, b = whole(node(weight)), whole(node(bias)) if bias is not None else None

        def of(x):
            channels(f"conv{n}d", x, w.shape[1] * groups, groups, w.shape[0])
            s, d = tuple_of(stride, n), tuple_of(dilation, n)
            p = (0,) * n if padding == "valid" else padding
            if p == "same":
                spatial = x.shape[2:]
            else:
                spatial = [(x.shape[2 + i] + 2 * tuple_of(p, n)[i] - d[i] * (w.shape[2 + i] - 1) - 1) // s[i] + 1 for i in range(n)]
            if min(spatial) < 1:
                raise RuntimeError(f"conv{n}d: a kernel of {tuple(w.shape[2:])} is larger than its input, {tuple(x.shape[2:])}")
            words = options(n, stride=(stride, 1), padding=(p, 0), dilation=(dilation, 1), groups=(groups, 1))
            words.update({"groups": str(int(groups))} if groups != 1 else {})
            args = [whole(x), w] + ([b] if b is not None else [])
            return call(f"conv{n}d", args, [x.shape[0], w.shape[0], *spatial], x.dtype, natural_type([x.dtype]), **words)

        return batched(node(input), n, of)

    op(f"conv{n}d")(function)


def transposed_convolution(n):
    def function(tr, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        w, b = whole(node(weight)), whole(node(bias)) if bias is not None else None

        def of(x):
            channels(f"conv_transpose{n}d", x, w.shape[0], groups, w.shape[0])
            s, p, o, d = [tuple_of(v, n) for v in (stride, padding, output_padding, dilation)]
            spatial = [(x.shape[2 + i] - 1) * s[i] - 2 * p[i] + d[i] * (w.shape[2 + i] - 1) + o[i] + 1 for i in range(n)]
            words = options(n, stride=(stride, 1), padding=(padding, 0), output_padding=(output_padding, 0), dilation=(dilation, 1))
            words.update({"groups": str(int(groups))} if groups != 1 else {})
            args = [whole(x), w] + ([b] if b is not None else [])
            return call(f"conv_transpose{n}d", args, [x.shape[0], w.shape[1] * groups, *spatial], x.dtype, natural_type([x.dtype]), **words)

        return batched(node(input), n, of)

    op(f"conv_transpose{n}d")(function)


def pooled(size, kernel, stride, padding, dilation, ceil_mode):
    """PyTorch's own rule: with ceil_mode the last window still begins inside what is padded on the left."""
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    n = (reach + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (n - 1) * stride >= size + padding:
        n -= 1
    if n < 1:
        raise RuntimeError(f"a window of {kernel} is larger than the axis of {size}")
    return n


def pooling(name, n):
    def function(tr, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, **more):
        if more.pop("return_indices", False):
            raise Refusal("return_indices")
        if more.pop("divisor_override", None):
            raise Refusal("divisor_override")
        include = more.pop("count_include_pad", True)
        step = stride if stride not in (None, [], ()) else kernel_size

        def of(x):
            k, s, p, d = [tuple_of(v, n) for v in (kernel_size, step, padding, dilation)]
            if name == "avg_pool" and n == 3 and any(x.shape[2 + i] < k[i] for i in range(n)):
                raise RuntimeError("avg_pool3d: a window is larger than its axis, which PyTorch does not take")
            spatial = [pooled(x.shape[2 + i], k[i], s[i], p[i], d[i], ceil_mode) for i in range(n)]
            words = options(n, padding=(p, 0), dilation=(d, 1))
            if s != k:
                words["stride"] = option(s, n, None)
            if ceil_mode:
                words["ceil_mode"] = "true"
            if not include:
                words["count_include_pad"] = "false"
            return call(f"{name}{n}d", [whole(x), option(k, n, None)], list(x.shape[:2]) + spatial, x.dtype, natural_type([x.dtype]), **words)

        return batched(node(input), n, of)

    return function


def average(n):
    max_like = pooling("avg_pool", n)

    def function(tr, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        return max_like(tr, input, kernel_size, stride, padding, 1, ceil_mode, count_include_pad=count_include_pad, divisor_override=divisor_override)

    op(f"avg_pool{n}d")(function)


def adaptive(n):
    def mean(tr, input, output_size):
        return batched(node(input), n, lambda x: adapt(x, output_size, n, "adaptive_avg_pool", "mean"))

    def largest(tr, input, output_size, return_indices=False):
        if return_indices:
            raise Refusal("return_indices")
        return batched(node(input), n, lambda x: adapt(x, output_size, n, "max_pool", "max"))

    op(f"adaptive_avg_pool{n}d")(mean)
    op(f"adaptive_max_pool{n}d")(largest)


def adapt(x, output_size, n, name, reduction):
    want = tuple_of(output_size, n)
    want = [x.shape[2 + i] if w is None else int(w) for i, w in enumerate(want)]
    if all(x.shape[2 + i] % w == 0 for i, w in enumerate(want)):
        given = want if name.startswith("adaptive") else [x.shape[2 + i] // w for i, w in enumerate(want)]
        return call(f"{name}{n}d", [whole(x), option(given, n, None)], list(x.shape[:2]) + want, x.dtype, natural_type([x.dtype]))
    for i, w in enumerate(want):
        d, size = 2 + i, x.shape[2 + i]
        parts = []
        for j in range(w):
            start, stop = j * size // w, -(-(j + 1) * size // w)
            parts.append(reduce(reduction, narrow_node(x, d, start, stop - start), d, True))
        x = concat(parts, d)
    return x


for dims in (1, 2, 3):
    convolution(dims)
    transposed_convolution(dims)
    # F.max_pool2d is boolean_dispatch's: it is called under the second name, and so is the function itself.
    op(f"max_pool{dims}d", f"_max_pool{dims}d")(pooling("max_pool", dims))
    average(dims)
    adaptive(dims)


@op("lp_pool1d", "lp_pool2d")
def lp_pool(tr, input, norm_type, kernel_size, stride=None, ceil_mode=False):
    x = node(input)
    n = len(x.shape) - 2
    k = count_of(tuple_of(kernel_size, n))
    powers = by_element("abs({0}) ** {1}", 5, [x, float(norm_type)], x.dtype)
    m = pooling("avg_pool", n)(tr, powers, kernel_size, stride, 0, 1, ceil_mode)
    return by_element("({0} * {1}) ** {2}", 5, [m, k, 1.0 / norm_type], x.dtype)


@op("interpolate", "upsample")
def interpolate(tr, input, size=None, scale_factor=None, mode="nearest", align_corners=None, **kwargs):
    x = node(input)
    n = len(x.shape) - 2
    scales = tuple_of(scale_factor, n) if scale_factor is not None else None
    want = [int(s) for s in tuple_of(size, n)] if size is not None else [int(x.shape[2 + i] * scales[i]) for i in range(n)]
    for i, w in enumerate(want):
        d, have = 2 + i, x.shape[2 + i]
        if w == have:
            continue
        ratio = have / w if scales is None or kwargs.get("recompute_scale_factor") else 1 / scales[i]
        if mode == "nearest":
            x = nearest(x, d, w, ratio)
        elif mode in ("linear", "bilinear", "trilinear"):
            x = between(x, d, w, (have - 1) / (w - 1) if align_corners and w > 1 else ratio, align_corners)
        else:
            raise Refusal(f"mode '{mode}'")
    return x


def nearest(x, d, w, ratio):
    have, shape = x.shape[d], list(x.shape)
    shape[d] = w
    if w % have == 0 and ratio == have / w:
        return call("repeat", [x, str(w // have)], shape, x.dtype, axis=d)
    ids = Node(f"i64(minimum(floor(f64(arange({w})) * {ratio!r}), {have - 1}))", [], (w,), torch.int64)
    return take(x, ids, d)


def between(x, d, w, ratio, align_corners):
    """Linear along one axis: two neighbours and how far it is between them."""
    have = x.shape[d]
    text = f"f32(arange({w})) * {ratio!r}" if align_corners else f"maximum((f32(arange({w})) + 0.5) * {ratio!r} - 0.5, 0)"
    at = Node(text, [], (w,), torch.float32, binds=MULTIPLY if align_corners else ATOM)
    low = by_element("i64(minimum(floor({0}), %d))" % (have - 1), ATOM, [at], torch.int64, torch.int64)
    high = by_element("minimum({0:2} + 1, %d)" % (have - 1), ATOM, [low], torch.int64, torch.int64)
    share = by_element("{0:2} - f32({1})", ADD, [at, low], torch.float32)
    share = reshape(share, (w,) + (1,) * (len(x.shape) - d - 1))
    return by_element("lerp({0}, {1}, {2})", ATOM, [take(x, low, d), take(x, high, d), share], x.dtype)


# ---- normalisations


def scaled(name, x, weight, bias, axis_words, words):
    """A norm with weight and bias where they are there."""
    if (weight is None) == (bias is None):
        args = [x] + ([weight, bias] if weight is not None else [])
        return call(name, args, x.shape, x.dtype, natural_type([x.dtype]), **words)
    y = call(name, [x], x.shape, x.dtype, natural_type([x.dtype]), **words)
    one = weight if weight is not None else bias
    one = reshape(one, axis_words)
    return by_element("{0:3} * {1:4}" if weight is not None else "{0:2} + {1:3}", MULTIPLY if weight is not None else ADD, [y, one], x.dtype)


def eps_word(eps, usual):
    return {} if eps == usual else {"eps": eps}


def maybe(t):
    return whole(node(t)) if t is not None else None


@op("layer_norm")
def layer_norm(tr, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    x, w, b = node(input), maybe(weight), maybe(bias)
    n = len(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else 1
    axes = list(range(len(x.shape) - n, len(x.shape)))
    want = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    if x.shape[-n:] != want:
        raise RuntimeError(f"layer_norm: an input ending in {want} is expected, not one of {x.shape}")
    words = {**({} if n == 1 else {"axis": sizes(axes)}), **eps_word(eps, 1e-5)}
    if w is not None and b is None:
        return call("layernorm", [x, w], x.shape, x.dtype, natural_type([x.dtype]), **words)
    return scaled("layernorm", x, w, b, x.shape[-n:], words)


@op("rms_norm")
def rms_norm(tr, input, normalized_shape, weight=None, eps=None):
    x, w = node(input), maybe(weight)
    axes = list(range(len(x.shape) - len(normalized_shape), len(x.shape)))
    words = {**({} if len(axes) == 1 else {"axis": sizes(axes)}), "eps": eps if eps is not None else torch.finfo(x.dtype).eps}
    return call("rmsnorm", [x] + ([w] if w is not None else []), x.shape, x.dtype, natural_type([x.dtype]), **words)


@op("batch_norm")
def batch_norm(tr, input, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5, *ignored):
    x, w, b = node(input), maybe(weight), maybe(bias)
    along = (1, x.shape[1]) + (1,) * (len(x.shape) - 2)
    for one in (weight, running_mean):
        if one is not None:
            channels("batch_norm", x, node(one).shape[0])
    if training and count_of(x.shape) == x.shape[1]:
        raise RuntimeError("batch_norm: more than one value for each channel is expected in training")
    if training:
        return scaled("batchnorm", x, w, b, along, eps_word(eps, 1e-5))
    m, v = maybe(running_mean), maybe(running_var)
    if w is not None and b is not None:
        return call("batchnorm", [x, m, v, w, b], x.shape, x.dtype, natural_type([x.dtype]), **eps_word(eps, 1e-5))
    y = by_element("({0:2} - {1:3}) * rsqrt({2:2} + {3})", MULTIPLY, [x, reshape(m, along), reshape(v, along), eps], x.dtype)
    if w is not None:
        y = by_element("{0:3} * {1:4}", MULTIPLY, [y, reshape(w, along)], x.dtype)
    return y if b is None else by_element("{0:2} + {1:3}", ADD, [y, reshape(b, along)], x.dtype)


@op("instance_norm")
def instance_norm(tr, input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5, *ignored):
    if not use_input_stats:
        return batch_norm(tr, input, running_mean, running_var, weight, bias, False, momentum, eps)
    x, w, b = node(input), maybe(weight), maybe(bias)
    if w is not None:
        channels("instance_norm", x, w.shape[0])
    if count_of(x.shape[2:]) == 1:
        raise RuntimeError("instance_norm: more than one value for each channel is expected")
    return scaled("instancenorm", x, w, b, (1, x.shape[1]) + (1,) * (len(x.shape) - 2), eps_word(eps, 1e-5))


@op("group_norm")
def group_norm(tr, input, num_groups, weight=None, bias=None, eps=1e-5, *ignored):
    x, w, b = node(input), maybe(weight), maybe(bias)
    channels("group_norm", x, w.shape[0] if w is not None else x.shape[1], num_groups, x.shape[1])
    return scaled("groupnorm", x, w, b, (1, x.shape[1]) + (1,) * (len(x.shape) - 2), {"groups": str(int(num_groups)), **eps_word(eps, 1e-5)})


@op("local_response_norm")
def local_response_norm(tr, input, size, alpha=1e-4, beta=0.75, k=1.0):
    x = node(input)
    square = by_element("square({0})", ATOM, [x], x.dtype)
    padded = pad_op(tr, square, [0, 0] * (len(x.shape) - 2) + [size // 2, (size - 1) // 2])
    total = None
    for i in range(size):
        part = narrow_node(padded, 1, i, x.shape[1])
        total = part if total is None else by_element("{0:2} + {1:3}", ADD, [total, part], x.dtype)
    return by_element("{0:3} / ({1:3} * {2} + {3}) ** {4}", MULTIPLY, [x, total, alpha / size, k, beta], x.dtype)


# ---- attention


@op("scaled_dot_product_attention")
def attention(tr, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    q, k, v = node(query), node(key), node(value)
    if enable_gqa:
        raise Refusal("enable_gqa")
    if dropout_p:
        tr.note(f"dropout (p = {dropout_p}) is left out, as in eval()")
    lead = broadcast(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    shape = list(lead) + [q.shape[-2], v.shape[-1]]
    natural = natural_type([q.dtype])
    if scale is None and is_causal and attn_mask is None:
        return call("causal_attention", [q, k, v], shape, q.dtype, natural)
    if scale is None and attn_mask is None and not is_causal:
        return call("attention", [q, k, v], shape, q.dtype, natural)
    scores = product(q, transpose(k, [*range(len(k.shape) - 2), len(k.shape) - 1, len(k.shape) - 2]), q.dtype)
    scores = by_element("{0:3} * {1:4}", MULTIPLY, [scores, scale if scale is not None else q.shape[-1] ** -0.5], q.dtype)
    if is_causal:
        m, n = scores.shape[-2:]
        mask = Node(f"arange({m})[:, None] >= arange({n})[None, :]", [], (m, n), torch.bool, binds=COMPARE)
        scores = by_element("where({0}, {1}, -inf)", ATOM, [mask, scores], q.dtype)
    elif attn_mask is not None:
        mask = node(attn_mask)
        if mask.dtype is torch.bool:
            scores = by_element("where({0}, {1}, -inf)", ATOM, [mask, scores], q.dtype)
        else:
            scores = by_element("{0:2} + {1:3}", ADD, [scores, mask], q.dtype)
    return product(soft("softmax", scores, -1, None), v, q.dtype)


# ---- losses


def loss(tr, name, formula, operands, reduction, weight=None, **words):
    """The language's loss where the mean is asked for, else its formula and the reduction."""
    xs = [node(o) for o in operands]
    dtype = xs[0].dtype
    shape = broadcast(*[x.shape for x in xs])
    if reduction == "mean" and name and weight is None and all(x.shape == shape for x in xs):
        return call(name, [whole(x) for x in xs], (), dtype, natural_type([x.dtype for x in xs]), **words)
    y = formula(*xs)
    if weight is not None:
        y = by_element("{0:3} * {1:4}", MULTIPLY, [y, node(weight)], dtype)
    return finish(y, reduction)


def finish(y, reduction):
    if reduction == "none":
        return y
    return reduce("mean" if reduction == "mean" else "sum", y)


def text_loss(text, binds=ATOM, extra=()):
    return lambda *xs: by_element(text, binds, [*xs, *extra], xs[0].dtype)


@op("mse_loss")
def mse_loss(tr, input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    return loss(tr, "mse_loss", text_loss("square({0:2} - {1:3})"), [input, target], reduction, weight)


@op("l1_loss")
def l1_loss(tr, input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    return loss(tr, "l1_loss", text_loss("abs({0:2} - {1:3})"), [input, target], reduction, weight)


@op("smooth_l1_loss")
def smooth_l1_loss(tr, input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    if beta == 0:
        return l1_loss(tr, input, target, reduction=reduction)
    gap = "abs({0:2} - {1:3})"
    text = f"where({gap} < {{2}}, square({{0:2}} - {{1:3}}) * (0.5 / {{2}}), {gap} - {{2}} * 0.5)"
    return loss(tr, "smooth_l1_loss", text_loss(text, extra=(beta,)), [input, target], reduction, **({} if beta == 1 else {"beta": beta}))


@op("huber_loss")
def huber_loss(tr, input, target, reduction="mean", delta=1.0, weight=None):
    gap = "abs({0:2} - {1:3})"
    text = f"where({gap} < {{2}}, square({{0:2}} - {{1:3}}) * 0.5, ({gap} - {{2}} * 0.5) * {{2}})"
    return loss(tr, "huber_loss", text_loss(text, extra=(delta,)), [input, target], reduction, weight, **({} if delta == 1 else {"delta": delta}))


@op("binary_cross_entropy")
def binary_cross_entropy(tr, input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    text = "({1:2} - 1) * maximum(log1p(-{0:4}), -100) - {1:3} * maximum(log({0}), -100)"
    return loss(tr, "bce_loss", text_loss(text, ADD), [input, target], reduction, weight)


@op("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(tr, input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    if pos_weight is not None:
        raise Refusal("pos_weight")
    text = "maximum({0}, 0) - {0:3} * {1:4} + log1p(exp(-abs({0})))"
    return loss(tr, "bce_with_logits_loss", text_loss(text, ADD), [input, target], reduction, weight)


@op("kl_div")
def kl_div(tr, input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    x, t = node(input), node(target)
    text = "exp({1}) * ({1:2} - {0:3})" if log_target else "xlogy({1}, {1}) - {1:3} * {0:4}"
    if reduction == "batchmean":
        y = finish(by_element(text, ADD, [x, t], x.dtype), "sum")
        return by_element("{0:3} / {1}", MULTIPLY, [y, x.shape[0]], x.dtype)
    return loss(tr, None if log_target else "kl_div_loss", text_loss(text, MULTIPLY if log_target else ADD), [x, t], reduction)


def picked(x, target):
    """x[n, target[n, ...], ...] without the axis of classes."""
    if len(x.shape) == 1:
        return index(take(x, reshape(target, (1,)), 0), [0])
    ids = reshape(target, (target.shape[0], 1) + target.shape[1:])
    y = call("take_along_axis", [x, ids], ids.shape, x.dtype, axis=1)
    return index(y, [slice(None), 0] + [slice(None)] * (len(ids.shape) - 2))


@op("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(tr, input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    x, t = node(input), node(target)
    if weight is not None or ignore_index >= 0:
        raise Refusal("weights of classes, or an ignored class")
    if reduction == "mean" and len(x.shape) > 1:
        return call("nll_loss", [x, t], (), x.dtype, natural_type([x.dtype]))
    y = picked(x, t)
    return finish(by_element("-{0:4}", 4, [y], x.dtype), reduction)


@op("cross_entropy", "cross_entropy_loss")
def cross_entropy(tr, input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    x, t = node(input), node(target)
    classes = 1 if len(x.shape) > 1 else 0
    if weight is not None or ignore_index >= 0:
        raise Refusal("weights of classes, or an ignored class")
    if t.dtype.is_floating_point:
        if label_smoothing:
            t = by_element("{0:3} * {1} + {2}", ADD, [t, 1 - label_smoothing, label_smoothing / x.shape[classes]], t.dtype)
        y = by_element("{0:3} * {1:4}", MULTIPLY, [t, soft("log_softmax", x, classes, None)], x.dtype)
        y = by_element("-{0:4}", 4, [reduce_("sum", y, classes)], x.dtype)
        return finish(y, reduction)
    if reduction == "mean" and not label_smoothing and classes == 1:
        return call("cross_entropy", [x, t], (), x.dtype, natural_type([x.dtype]))
    log = soft("log_softmax", x, classes, None)
    y = by_element("-{0:4}", 4, [picked(log, t)], x.dtype)
    if label_smoothing:
        even = reduce_("mean", log, classes)
        y = by_element("{0:3} * {2} - {1:3} * {3}", ADD, [y, even, 1 - label_smoothing, label_smoothing], x.dtype)
    return finish(y, reduction)


reduce_ = reduce


@op("hinge_embedding_loss")
def hinge_embedding_loss(tr, input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    text = "where({1:2} == 1, {0}, maximum({2} - {0:3}, 0))"
    return loss(tr, "hinge_embedding_loss", text_loss(text, extra=(margin,)), [input, target], reduction, **({} if margin == 1 else {"margin": margin}))


@op("soft_margin_loss")
def soft_margin_loss(tr, input, target, size_average=None, reduce=None, reduction="mean"):
    return loss(tr, "soft_margin_loss", text_loss("log1p(exp(-({0:3} * {1:4})))"), [input, target], reduction)


@op("margin_ranking_loss")
def margin_ranking_loss(tr, input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    text = "maximum({3} - {2:3} * ({0:2} - {1:3}), 0)"
    return loss(tr, "margin_ranking_loss", text_loss(text, extra=(margin,)), [input1, input2, target], reduction, **({} if margin == 0 else {"margin": margin}))


@op("triplet_margin_loss")
def triplet_margin_loss(tr, anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    from import_reduce import pairwise_distance

    if reduction == "mean" and p == 2 and not swap:
        words = {**({} if margin == 1 else {"margin": margin}), **eps_word(eps, 1e-6)}
        x = node(anchor)
        return call("triplet_margin_loss", [whole(node(t)) for t in (anchor, positive, negative)], (), x.dtype, natural_type([x.dtype]), **words)
    near, far = pairwise_distance(tr, anchor, positive, p, eps), pairwise_distance(tr, anchor, negative, p, eps)
    if swap:
        far = by_element("minimum({0}, {1})", ATOM, [far, pairwise_distance(tr, positive, negative, p, eps)], far.dtype)
    return finish(by_element("maximum({0:2} - {1:3} + {2}, 0)", ATOM, [near, far, margin], near.dtype), reduction)


@op("cosine_embedding_loss")
def cosine_embedding_loss(tr, input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    from import_reduce import cosine_similarity

    cos = cosine_similarity(tr, input1, input2, len(node(input1).shape) - 1)
    y = by_element("where({1:2} == 1, 1 - {0:3}, maximum({0:2} - {2}, 0))", ATOM, [cos, node(target), margin], cos.dtype)
    return finish(y, reduction)


@op("poisson_nll_loss")
def poisson_nll_loss(tr, input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    if full:
        raise Refusal("full")
    text = "exp({0}) - {1:3} * {0:4}" if log_input else "{0:2} - {1:3} * log({0:2} + %r)" % eps
    return loss(tr, "poisson_nll_loss" if log_input else None, text_loss(text, ADD), [input, target], reduction)


@op("gaussian_nll_loss")
def gaussian_nll_loss(tr, input, target, var, full=False, eps=1e-6, reduction="mean"):
    if full:
        raise Refusal("full")
    text = "(log(maximum({2}, {3})) + square({0:2} - {1:3}) / maximum({2}, {3})) * 0.5"
    return loss(tr, "gaussian_nll_loss", text_loss(text, MULTIPLY, (eps,)), [input, target, var], reduction, **eps_word(eps, 1e-6))


__all__ = ["Full", "arithmetic", "axis_of", "cast", "known", "spread"]
