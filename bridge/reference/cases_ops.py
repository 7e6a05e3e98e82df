"""Elementwise operations, reductions, composites and losses, in f64; storage types."""

import numpy as np
import torch
import torch.nn.functional as F

cases = []


def case(name, text, function):
    cases.append((name, text, function))


def one(function):
    """With a parameter called x, which compare.py looks for."""
    return lambda x: function(x)


def two(function):
    return lambda x, z: function(x, z)


# ---- by element: (expression, function[, distribution])

UNARY = [
    ("-x", lambda x: -x),
    ("abs(x)", torch.abs),
    ("exp(x)", torch.exp),
    ("exp2(x)", torch.exp2),
    ("expm1(x)", torch.expm1),
    ("log(x)", torch.log, "uniform(0.01, 5)"),
    ("log2(x)", torch.log2, "uniform(0.01, 5)"),
    ("log10(x)", torch.log10, "uniform(0.01, 5)"),
    ("log1p(x)", torch.log1p, "uniform(-0.9, 5)"),
    ("sqrt(x)", torch.sqrt, "uniform(0, 5)"),
    ("rsqrt(x)", torch.rsqrt, "uniform(0.1, 5)"),
    ("sin(x)", torch.sin, "normal(0, 10)"),
    ("cos(x)", torch.cos, "normal(0, 10)"),
    ("tan(x)", torch.tan),
    ("asin(x)", torch.asin, "uniform(-0.99, 0.99)"),
    ("acos(x)", torch.acos, "uniform(-0.99, 0.99)"),
    ("atan(x)", torch.atan),
    ("sinh(x)", torch.sinh),
    ("cosh(x)", torch.cosh),
    ("tanh(x)", torch.tanh),
    ("erf(x)", torch.erf),
    ("erfc(x)", torch.erfc),
    ("floor(x * 3)", lambda x: torch.floor(x * 3)),
    ("ceil(x * 3)", lambda x: torch.ceil(x * 3)),
    ("round(x * 3)", lambda x: torch.round(x * 3)),
    ("round(x * 0.5)", lambda x: torch.round(x * 0.5), "integers(-9, 9)"),
    ("trunc(x * 3)", lambda x: torch.trunc(x * 3)),
    ("sign(x)", torch.sign, "integers(-2, 2)"),
    ("square(x)", torch.square),
    ("reciprocal(x)", torch.reciprocal),
    ("x ** 3", lambda x: x ** 3),
    ("x ** -0.5", lambda x: x ** -0.5, "uniform(0.1, 5)"),
    ("2 ** x", lambda x: 2 ** x),
    ("-x ** 2", lambda x: -x ** 2),
    ("x % 0.7", lambda x: torch.remainder(x, 0.7)),
    ("x // 0.7", lambda x: torch.floor(x / 0.7)),
    ("clamp(x, -1, 0.5)", lambda x: torch.clamp(x, -1, 0.5)),
    ("where(isfinite(1 / x), x, 7)", lambda x: torch.where(torch.isfinite(1 / x), x, 7.0), "integers(-2, 2)"),
    ("where(isnan(log(x)), 1, 2.0)", lambda x: torch.where(torch.isnan(torch.log(x)), 1.0, 2.0)),
    ("where(isinf(1 / x), 1, 2.0)", lambda x: torch.where(x == 0, 1.0, 2.0), "integers(-2, 2)"),
    ("where(logical_and(x > -1, x < 1), x, 0)", lambda x: torch.where(x.abs() < 1, x, 0.0)),
    ("where(logical_or(x < -1, x > 1), x, 0)", lambda x: torch.where(x.abs() > 1, x, 0.0)),
    ("where(logical_xor(x < 0, x > -1), x, 0)", lambda x: torch.where((x < 0) ^ (x > -1), x, 0.0)),
    ("where(logical_not(x < 0), x, 0)", lambda x: torch.where(~(x < 0), x, 0.0)),
    ("where(x != 1, x, 9)", lambda x: torch.where(x != 1, x, 9.0), "integers(-2, 2)"),
    # activations
    ("relu(x)", F.relu),
    ("relu6(x * 4)", lambda x: F.relu6(x * 4)),
    ("leaky_relu(x)", F.leaky_relu),
    ("leaky_relu(x, 0.3)", lambda x: F.leaky_relu(x, 0.3)),
    ("softmax(x, 0) + sum(x, 0)", lambda x: F.softmax(x, 0) + torch.sum(x, 0)),
    ("leaky_relu(x, slope=0.2)", lambda x: F.leaky_relu(x, 0.2)),
    ("elu(x)", F.elu),
    ("elu(x, alpha=0.5)", lambda x: F.elu(x, 0.5)),
    ("selu(x)", F.selu),
    ("celu(x)", F.celu),
    ("celu(x, alpha=2)", lambda x: F.celu(x, 2.0)),
    ("gelu(x)", F.gelu),
    ("gelu_tanh(x)", lambda x: F.gelu(x, approximate="tanh")),
    ("sigmoid(x)", torch.sigmoid),
    ("silu(x)", F.silu),
    ("mish(x)", F.mish),
    # PyTorch gives up the logarithm beyond a threshold; here there is none.
    ("softplus(x)", lambda x: F.softplus(x, threshold=50)),
    ("softplus(x, beta=2)", lambda x: F.softplus(x, beta=2, threshold=50)),
    ("logsigmoid(x)", F.logsigmoid),
    ("softsign(x)", F.softsign),
    ("hardtanh(x)", F.hardtanh),
    ("hardtanh(x, -0.25, 1)", lambda x: F.hardtanh(x, -0.25, 1)),
    ("hardtanh(x, lo=-0.5, hi=2)", lambda x: F.hardtanh(x, -0.5, 2)),
    ("hardsigmoid(x * 3)", lambda x: F.hardsigmoid(x * 3)),
    ("hardswish(x * 3)", lambda x: F.hardswish(x * 3)),
    ("hardshrink(x)", F.hardshrink),
    ("softshrink(x)", F.softshrink),
    ("softshrink(x, lambda=0.2)", lambda x: F.softshrink(x, 0.2)),
    ("tanhshrink(x)", F.tanhshrink),
    ("threshold(x, 0.3, -7)", lambda x: F.threshold(x, 0.3, -7)),
]

for i, (expression, function, *distribution) in enumerate(UNARY):
    case(f"unary_{i}", f"""
in x : f64[7, 23] ~ {distribution[0] if distribution else 'normal(0, 2)'}
out y : f64[7, 23]
y = {expression}
""", one(function))

BINARY = [
    ("x + z", torch.add),
    ("x - z", torch.sub),
    ("x * z", torch.mul),
    ("x / z", torch.div),
    ("maximum(x, z)", torch.maximum),
    ("minimum(x, z)", torch.minimum),
    ("pow(abs(x), z)", lambda x, z: torch.pow(x.abs(), z)),
    ("atan2(x, z)", torch.atan2),
    ("x % z", torch.remainder),
    ("where(x < z, x, z * 2)", lambda x, z: torch.where(x < z, x, z * 2)),
    ("where(x >= z, x, z * 2)", lambda x, z: torch.where(x >= z, x, z * 2)),
    ("hypot(x, z)", torch.hypot),
    ("lerp(x, z, 0.3)", lambda x, z: torch.lerp(x, z, 0.3)),
    ("logaddexp(x, z)", torch.logaddexp),
    ("xlogy(x, abs(z))", lambda x, z: torch.xlogy(x, z.abs())),
    ("linear(x, x * z, z[:7]) @ x", lambda x, z: F.linear(x, x * z, z[:7]) @ x),
    ("prelu(x, z)", lambda x, z: torch.where(x > 0, x, x * z)),
    ("cosine_similarity(x + z, z)[:, None] + x", lambda x, z: F.cosine_similarity(x + z, z.expand_as(x))[:, None] + x),
]
for i, (expression, function) in enumerate(BINARY):
    expression = expression.replace("+ z, z)", "+ z, z + x * 0)")
    case(f"binary_{i}", f"""
in x : f64[7, 23]
in z : f64[23]
out y : f64[7, 23]
y = {expression}
""", two(function))

# ---- reductions: (expression over x[3, 5, 8], shape, function)

REDUCTIONS = [
    ("sum(x)", "", lambda x: x.sum()),
    ("sum(x, axis=1)", "[3, 8]", lambda x: x.sum(1)),
    ("sum(x, axis=(0, -1), keepdims=true)", "[1, 5, 1]", lambda x: x.sum((0, 2), keepdim=True)),
    ("max(x, axis=0)", "[5, 8]", lambda x: x.amax(0)),
    ("min(x, axis=(1, 2))", "[3]", lambda x: x.amin((1, 2))),
    ("prod(x, axis=2)", "[3, 5]", lambda x: x.prod(2)),
    ("mean(x)", "", lambda x: x.mean()),
    ("mean(x, axis=1, keepdims=true)", "[3, 1, 8]", lambda x: x.mean(1, keepdim=True)),
    ("var(x)", "", lambda x: x.var()),
    ("var(x, axis=2)", "[3, 5]", lambda x: x.var(2)),
    ("var(x, axis=(0, 2), correction=0, keepdims=true)", "[1, 5, 1]",
     lambda x: x.var((0, 2), unbiased=False, keepdim=True)),
    ("std(x, axis=1)", "[3, 8]", lambda x: x.std(1)),
    ("std(x, correction=2)", "", lambda x: ((x - x.mean()).square().sum() / (x.numel() - 2)).sqrt()),
    ("logsumexp(x, axis=1)", "[3, 8]", lambda x: x.logsumexp(1)),
    ("logsumexp(log(abs(x) * 0), axis=1)", "[3, 8]", lambda x: (x.abs() * 0).log().logsumexp(1)),
    ("logsumexp(-log(abs(x) * 0), axis=1)", "[3, 8]", lambda x: (-(x.abs() * 0).log()).logsumexp(1)),
    ("logsumexp(x, axis=(1, 2), keepdims=true)", "[3, 1, 1]", lambda x: x.logsumexp((1, 2), keepdim=True)),
    ("norm(x)", "", torch.linalg.norm),
    ("norm(x, axis=2)", "[3, 5]", lambda x: torch.linalg.vector_norm(x, dim=2)),
    ("norm1(x, axis=1)", "[3, 8]", lambda x: torch.linalg.vector_norm(x, 1, dim=1)),
    ("norm_inf(x, axis=0)", "[5, 8]", lambda x: torch.linalg.vector_norm(x, torch.inf, dim=0)),
    ("norm_p(x, p=3)", "", lambda x: torch.linalg.vector_norm(x, 3)),
    ("softmax(x)", "[3, 5, 8]", lambda x: x.softmax(-1)),
    ("softmax(x, axis=1)", "[3, 5, 8]", lambda x: x.softmax(1)),
    ("softmin(x)", "[3, 5, 8]", lambda x: F.softmin(x, -1)),
    ("log_softmax(x, axis=0)", "[3, 5, 8]", lambda x: x.log_softmax(0)),
    ("l2_normalize(x, axis=1)", "[3, 5, 8]", lambda x: F.normalize(x, dim=1)),
    ("layernorm(x)", "[3, 5, 8]", lambda x: F.layer_norm(x, (8,))),
    ("layernorm(x, axis=(1, 2), eps=0.1)", "[3, 5, 8]", lambda x: F.layer_norm(x, (5, 8), eps=0.1)),
    ("rmsnorm(x)", "[3, 5, 8]", lambda x: x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()),
    ("batchnorm(x)", "[3, 5, 8]", lambda x: F.batch_norm(x, None, None, training=True)),
    ("instancenorm(x)", "[3, 5, 8]", lambda x: F.instance_norm(x)),
    ("groupnorm(x, groups=5)", "[3, 5, 8]", lambda x: F.group_norm(x, 5)),
]
for i, (expression, shape, function) in enumerate(REDUCTIONS):
    case(f"reduction_{i}", f"""
in x : f64[3, 5, 8]
out y : f64{shape}
y = {expression}
""", one(function))

case("positions", """
in x : f32[3, 5, 8] ~ integers(-3, 3)
in n : f32[6]
out a : i64[3, 5]
out b : i64[3, 8]
out c : i64
out d : i64[5]
out e : i64
out f : f32
a = argmax(x, axis=2)
b = argmin(x, axis=1)
c = argmax(x)
d = argmax(x, axis=(0, 2))
m = where(n > n[3], log(0 - n * n), n)
e = argmax(m)
f = max(m) + min(m)
""", lambda x, n: (lambda m: (first(x, 2, True), first(x, 1, False), first(x.reshape(-1), 0, True),
                              first(x.permute(1, 0, 2).reshape(5, -1), 1, True), first(m, 0, True),
                              m.max() + m.min()))(torch.where(n > n[3], torch.nan, n)))


def first(x, axis, largest):
    """PyTorch leaves ties open; NumPy takes the first, and so does the language."""
    return torch.tensor((np.argmax if largest else np.argmin)(x.numpy(), axis=axis))


case("truth", """
in x : f32[4, 9] ~ integers(-3, 3)
in b : bool[4, 9]
out a : bool[4]
out c : bool[9]
out d : bool
out e : i32
a = any(x > 2, axis=1)
c = all(logical_or(b, x > -2), axis=0)
d = any(logical_and(b, logical_not(b)))
e = count_nonzero(x)
""", lambda x, b: ((x > 2).any(1), (b | (x > -2)).all(0), torch.tensor(False), torch.count_nonzero(x)))

# ---- norms with weights, attention

case("norms", """
dim B = 2, C = 6, H = 3, W = 4
in x : f64[B, C, H, W]
in w : f64[C]
in b : f64[C]
in m : f64[C]
in v : f64[C] ~ uniform(0.5, 2)
in q : f64[W]
in r : f64[W]
out y1 : f64[B, C, H, W]
out y2 : f64[B, C, H, W]
out y3 : f64[B, C, H, W]
out y4 : f64[B, C, H, W]
out y5 : f64[B, C, H, W]
out y6 : f64[B, C, H, W]
out y7 : f64[B, C, H, W]
y1 = batchnorm(x, w, b)
y2 = batchnorm(x, m, v, w, b)
y3 = instancenorm(x, w, b)
y4 = groupnorm(x, w, b, groups=3)
y5 = layernorm(x, q, r)
y6 = layernorm(x, q)
y7 = rmsnorm(x, q, eps=0.01)
""", lambda x, w, b, m, v, q, r: (
    F.batch_norm(x, None, None, w, b, training=True), F.batch_norm(x, m, v, w, b), F.instance_norm(x, weight=w, bias=b),
    F.group_norm(x, 3, w, b), F.layer_norm(x, (4,), q, r), F.layer_norm(x, (4,), q),
    x / (x.square().mean(-1, keepdim=True) + 0.01).sqrt() * q))


def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ v


case("attentions", """
dim B = 2, H = 3, T = 5, S = 7, D = 4
in q : f64[B, H, T, D]
in k : f64[B, H, S, D]
in v : f64[B, H, S, D]
in m : bool[T, S] ~ bernoulli(0.8)
out a : f64[B, H, T, D]
out b : f64[B, H, T, D]
out c : f64[B, H, T, D]
a = attention(q, k, v)
b = attention(q, k, v, logical_or(m, arange(S)[None, :] == 0))
c = causal_attention(q, k, v)
""", lambda q, k, v, m: (attention(q, k, v), attention(q, k, v, m | (torch.arange(7)[None, :] == 0)),
                         attention(q, k, v, torch.ones(5, 7, dtype=torch.bool).tril())))

# ---- losses

case("regression_losses", """
in x : f64[6, 5]
in t : f64[6, 5]
in p : f64[6, 5] ~ uniform(0.05, 0.95)
in v : f64[6, 5] ~ uniform(0.1, 2)
out a : f64
out b : f64
out c : f64
out d : f64
out e : f64
out f : f64
out g : f64
out h : f64
a = mse_loss(x, t)
b = l1_loss(x, t)
c = smooth_l1_loss(x, t, beta=0.5)
d = huber_loss(x, t, delta=0.7)
e = bce_loss(p, v / 2)
f = bce_with_logits_loss(x, p)
g = kl_div_loss(log_softmax(x), p)
h = gaussian_nll_loss(x, t, v)
""", lambda x, t, p, v: (
    F.mse_loss(x, t), F.l1_loss(x, t), F.smooth_l1_loss(x, t, beta=0.5), F.huber_loss(x, t, delta=0.7),
    F.binary_cross_entropy(p, v / 2), F.binary_cross_entropy_with_logits(x, p),
    F.kl_div(x.log_softmax(-1), p), F.gaussian_nll_loss(x, t, v)))

case("more_losses", """
in x : f64[6, 5]
in z : f64[6, 5]
in n : f64[6, 5]
in s : f64[6, 5] ~ sign
in t : f64[6] ~ sign
in k : i64[6] ~ index(5)
out a : f64
out b : f64
out c : f64
out d : f64
out e : f64
out f : f64
out g : f64
out h : f64
a = hinge_loss(x, s)
b = hinge_embedding_loss(x, s)
c = soft_margin_loss(x, s)
d = margin_ranking_loss(x, z, s, margin=0.1)
e = cosine_embedding_loss(x, z, t, margin=0.1)
f = triplet_margin_loss(x, z, n)
g = cross_entropy(x, k)
h = nll_loss(log_softmax(z), k) + poisson_nll_loss(x, abs(z))
""", lambda x, z, n, s, t, k: (
    (1 - x * s).clamp(min=0).mean(), F.hinge_embedding_loss(x, s), F.soft_margin_loss(x, s),
    F.margin_ranking_loss(x, z, s, margin=0.1), F.cosine_embedding_loss(x, z, t, margin=0.1),
    F.triplet_margin_loss(x, z, n), F.cross_entropy(x, k),
    F.nll_loss(z.log_softmax(-1), k) + F.poisson_nll_loss(x, z.abs())))

case("cross_entropy_of_images", """
in x : f64[2, 5, 3, 4]
in k : i64[2, 3, 4] ~ index(5)
out y : f64
y = cross_entropy(x, k)
""", lambda x, k: F.cross_entropy(x, k))

# ---- integers and storage types

case("integers", """
in i : i32[50] ~ integers(-100, 100)
in j : i32[50] ~ integers(1, 7)
in b : i8[50]
out a : i32[50]
out c : i32[50]
out d : i32[50]
out e : i32[50]
out f : i32[50]
out g : i32[50]
out h : f32[50]
out k : i8[50]
a = i // j + i % j
c = bitand(i, j) + bitor(i, 8) * bitxor(i, j)
d = shift_left(j, 3) + shift_right(i, 2)
e = abs(i) * sign(i) - maximum(i, j) + minimum(i, -j)
f = sum(i) + max(i) * min(j) + i * 100000 * 1000
g = b * b + i32(h0)
h0 = i / j
h = h0 + i * 0.5
k = b * 3
""".replace("g = b * b + i32(h0)\nh0 = i / j\n", "h0 = i / j\ng = b * b + i32(h0)\n"),
     lambda i, j, b: (
         torch.div(i, j, rounding_mode="floor") + torch.remainder(i, j), (i & j) + (i | 8) * (i ^ j), (j << 3) + (i >> 2),
         i.abs() * i.sign() - torch.maximum(i, j) + torch.minimum(i, -j),
         (i.sum() + i.max() * j.min() + i * 100000 * 1000).to(torch.int32),
         b * b + (i / j).to(torch.int64), i.double() / j + i * 0.5, (b * 3).to(torch.int8)))

case("integer_products", """
in a : i8[5, 9]
in b : u8[9, 4]
in c : i64[9, 4] ~ integers(-1000, 1000)
out x : i32[5, 4]
out y : i64[5, 4]
out z : f64[5, 4]
x = a @ b
y = a @ c
z = f64(a) @ c
""", lambda a, b, c: (a @ b, a @ c, (a @ c).double()))

# A row without anything unmasked is NaN, as PyTorch has it.
case("masked_by_infinity", """
in x : f64[4, 5]
out y : f64[4, 5]
out z : f64[4]
out w : f64[4, 5]
c = arange(4)[:, None] > arange(5)[None, :]
y = softmax(where(c, x, -inf))
z = logsumexp(where(c, x, -inf), axis=1)
w = clamp(x, -inf, 0.5) + minimum(x, inf)
""", lambda x: (
    torch.softmax(x.masked_fill(torch.ones(4, 5).tril(-1) == 0, -torch.inf), dim=1),
    torch.logsumexp(x.masked_fill(torch.ones(4, 5).tril(-1) == 0, -torch.inf), dim=1),
    torch.clamp(x, max=0.5) + x))
