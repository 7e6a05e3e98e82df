"""State that goes along an axis: PyTorch's own recurrent networks, and loops written out."""

import torch

cases = []


def case(name, text, function):
    cases.append((name, text, function))


def module(kind, w, u, b, bu=None, **options):
    """PyTorch's network with these weights; in float64, batch first."""
    net = kind(w.shape[1], u.shape[1], batch_first=True, **options).double()
    with torch.no_grad():
        net.weight_ih_l0.copy_(w)
        net.weight_hh_l0.copy_(u)
        net.bias_ih_l0.copy_(b)
        net.bias_hh_l0.copy_(torch.zeros_like(b) if bu is None else bu)
    return net


def lstm(x, h0, c0, w, u, b):
    y, (h, c) = module(torch.nn.LSTM, w, u, b)(x, (h0[None], c0[None]))
    return y.detach(), h[0].detach(), c[0].detach()


case("lstm", """
dim B = 3, T = 11, D = 4, H = 5
in x : f32[B, T, D] ~ normal
in h0 : f32[B, H] ~ normal
in c0 : f32[B, H] ~ normal
param w : f32[4 * H, D] ~ uniform(-0.4, 0.4)
param u : f32[4 * H, H] ~ uniform(-0.4, 0.4)
param b : f32[4 * H] ~ uniform(-0.4, 0.4)
out y : f32[B, T, H]
out hn : f32[B, H]
out cn : f32[B, H]
for t in T with h = h0, c = c0:
    g = x[:, t] @ w.T + h @ u.T + b
    c = sigmoid(g[:, H:2 * H]) * c + sigmoid(g[:, :H]) * tanh(g[:, 2 * H:3 * H])
    h = sigmoid(g[:, 3 * H:]) * tanh(c)
    y[:, t] = h
hn = h
cn = c
""", lstm)


def gru(x, h0, w, u, b, bu):
    y, h = module(torch.nn.GRU, w, u, b, bu)(x, h0[None])
    return y.detach(), h[0].detach()


case("gru", """
dim B = 2, T = 7, D = 3, H = 4
in x : f32[B, T, D] ~ normal
in h0 : f32[B, H] ~ normal
param w : f32[3 * H, D] ~ uniform(-0.5, 0.5)
param u : f32[3 * H, H] ~ uniform(-0.5, 0.5)
param b : f32[3 * H] ~ uniform(-0.5, 0.5)
param bu : f32[3 * H] ~ uniform(-0.5, 0.5)
out y : f32[B, T, H]
out hn : f32[B, H]
xw = x @ w.T + b
for t in T with h = h0:
    g = h @ u.T + bu
    i = xw[:, t]
    r = sigmoid(i[:, :H] + g[:, :H])
    z = sigmoid(i[:, H:2 * H] + g[:, H:2 * H])
    h = (1 - z) * tanh(i[:, 2 * H:] + r * g[:, 2 * H:]) + z * h
    y[:, t] = h
hn = h
""", gru)


def rnn_both_ways(x, w, u, b):
    y, _ = module(torch.nn.RNN, w, u, b)(x)
    z, _ = module(torch.nn.RNN, w, u, b)(torch.flip(x, [1]))
    return torch.cat([y, torch.flip(z, [1])], 2).detach()


case("rnn_both_ways", """
dim B = 2, T = 6, D = 3, H = 4
in x : f32[B, T, D] ~ normal
param w : f32[H, D] ~ normal
param u : f32[H, H] ~ uniform(-0.5, 0.5)
param b : f32[H] ~ normal
out y : f32[B, T, 2 * H]
for t in T with h : f32[B, H] = 0:
    h = tanh(x[:, t] @ w.T + h @ u.T + b)
    there[:, t] = h
for t in reversed(T) with h2 : f32[B, H] = 0:
    h2 = tanh(x[:, t] @ w.T + h2 @ u.T + b)
    back[:, t] = h2
y = concat(there, back, axis=2)
""", rnn_both_ways)


def selective_scan(x, dt, a, bs, cs):
    batch, steps, width = x.shape
    h = torch.zeros(batch, width, a.shape[1], dtype=torch.float64)
    y = []
    for t in range(steps):
        decay = torch.exp(dt[:, t, :, None] * a)
        h = decay * h + (dt[:, t] * x[:, t])[:, :, None] * bs[:, t, None, :]
        y.append((h * cs[:, t, None, :]).sum(-1))
    return torch.stack(y, 1), h


case("selective_scan", """
dim B = 2, T = 9, D = 3, N = 4
in x : f32[B, T, D] ~ normal
in dt : f32[B, T, D] ~ uniform(0.1, 1)
param a : f32[D, N] ~ uniform(-1, -0.1)
in bs : f32[B, T, N] ~ normal
in cs : f32[B, T, N] ~ normal
out y : f32[B, T, D]
out last : f32[B, D, N]
for t in T with h : f32[B, D, N] = 0:
    h = exp(dt[:, t][:, :, None] * a) * h + (dt[:, t] * x[:, t])[:, :, None] * bs[:, t, None, :]
    y[:, t] = sum(h * cs[:, t, None], axis=-1)
last = h
""", selective_scan)


def time_first(x, h0):
    h, k, out, sums = h0.clone(), torch.zeros((), dtype=torch.float64), [], []
    for t in range(x.shape[0] - 1, -1, -1):
        h, k = torch.maximum(h * 0.5, x[t]), k + x[t].sum()
        out.insert(0, h)
        sums.insert(0, k)
    return torch.stack(out), torch.stack(out, 2), torch.stack(sums), k


case("axes_and_scalars", """
dim T = 5, M = 3, N = 2
in x : f32[T, M, N] ~ normal
in h0 : f32[M, N] ~ normal
out first : f32[T, M, N]
out late : f32[M, N, T]
out sums : f32[T]
out total : f32
for t in reversed(T) with h = h0, k = 0:
    h = maximum(h * 0.5, x[t])
    k = k + sum(x[t])
    first[t] = h
    late[:, :, t] = h
    sums[t] = k
total = k
""", time_first)


def fibonacci(n):
    a, b, out = torch.tensor(0), torch.tensor(1), []
    for _ in range(n.shape[0]):
        out.append(a)
        a, b = b, a + b
    return torch.stack(out)


# Before it is assigned a state is the old one, so two can change places.
case("old_and_new", """
in n : i64[20] ~ index(2)
out fib : i64[20]
for t in 20 with a : i64 = 0, b : i64 = 1:
    fib[t] = a + 0 * n[t]
    old = a
    a = b
    b = old + b
""", fibonacci)


def invariant(x, w):
    m = torch.tanh(w @ w.T)
    h = torch.zeros(x.shape[0], x.shape[2], dtype=torch.float64)
    for t in range(x.shape[1]):
        h = 0.5 * h @ m + x[:, t]
    return h


case("invariant", """
dim B = 2, T = 8, N = 3
in x : f32[B, T, N] ~ normal
in w : f32[N, N] ~ normal
out y : f32[B, N]
for t in T with h : f32[B, N] = 0:
    m = tanh(w @ w.T)
    h = 0.5 * h @ m + x[:, t]
y = h
""", invariant)
