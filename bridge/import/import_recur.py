"""RNN, LSTM and GRU: PyTorch's layers become the language's loops over time.

What does not wait for the state, the product with the input, stands before the loop for all steps at
once.
"""

import torch

from import_graph import ATOM, Full, Loop, Part, Refusal, concat, index, reshape, stack, transpose
from import_moves import narrow_node
from import_pointwise import by_element, node
from import_reduce import linear, whole
from import_trace import op

# The next state in lines; $w is a word of the loop, {0} what the input gives at this step, {1} and
# {2} the weight and the bias of the state. H is the number of hidden units.
LSTM = [
    "$g = {0} + linear($h, {1}{2})",
    "$i = sigmoid($g[:, :H])",
    "$f = sigmoid($g[:, H:2H])",
    "$n = tanh($g[:, 2H:3H])",
    "$o = sigmoid($g[:, 3H:])",
    "$c = $f * $c + $i * $n",
    "$h = $o * tanh($c)",
]
GRU = [
    "$x = {0}",
    "$g = linear($h, {1}{2})",
    "$r = sigmoid($x[:, :H] + $g[:, :H])",
    "$z = sigmoid($x[:, H:2H] + $g[:, H:2H])",
    "$n = tanh($x[:, 2H:] + $r * $g[:, 2H:])",
    "$h = (1 - $z) * $n + $z * $h",
]
RNN = {
    "rnn_tanh": ["$h = tanh({0} + linear($h, {1}{2}))"],
    "rnn_relu": ["$h = relu({0} + linear($h, {1}{2}))"],
}
LINES = {"lstm": LSTM, "gru": GRU, **RNN}
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def with_hidden(line, hidden):
    for k in (3, 2):
        line = line.replace(f"{k}H", str(k * hidden))
    return line.replace("H", str(hidden))


def direction(tr, kind, x, weights, states, reverse):
    """One direction of one layer. x is [T, B, I]; gives the states of all steps and the last ones."""
    w_ih, w_hh, *biases = [whole(node(w)) for w in weights]
    hidden = w_hh.shape[1]
    steps, batch = x.shape[0], x.shape[1]
    given = linear(tr, x, w_ih, biases[0] if biases else None)
    tr.marked(given, given.number - 1)
    args = [given, w_hh] + ([biases[1]] if biases else [])
    starts = []
    for word, s in zip(("h", "c"), states):
        if isinstance(s, Full):
            starts.append((word, (batch, hidden), s.value))
        else:
            starts.append((word, None, len(args)))
            args.append(s)
    lines = [with_hidden(line, hidden) for line in LINES[kind]]
    lines = [line.replace("{0}", "{0:6}[t]").replace("{2}", ", {2}" if biases else "") for line in lines]
    loop = Loop(steps, reverse, starts, lines + ["$y[t] = $h"], ["y"], args)
    loop.shape = (steps, batch, hidden)
    loop.dtype = x.dtype
    last = [Part(loop, word, (batch, hidden), x.dtype) for word, _ in zip(("h", "c"), states)]
    return Part(loop, "y", (steps, batch, hidden), x.dtype), last


def layers(kind, n_states):
    def function(tr, input, hx, weights, has_biases, *rest):
        if isinstance(has_biases, (list, tuple)):
            raise Refusal("a packed sequence")
        num_layers, dropout, train, bidirectional, batch_first = rest
        x = node(input)
        states = [node(h) for h in (hx if isinstance(hx, (tuple, list)) else [hx])]
        if x.dtype not in (torch.float32, torch.float64):
            raise Refusal("recurrent layers in types other than f32 and f64")
        n_directions = 2 if bidirectional else 1
        per = len(weights) // (num_layers * n_directions)
        if per != (4 if has_biases else 2):
            raise Refusal("proj_size")
        if dropout and train and num_layers > 1:
            tr.note(f"dropout (p = {dropout}) is left out, as in eval()")
        alone = len(x.shape) == 2
        if alone:
            x = reshape(x, (x.shape[0], 1, x.shape[1]))
            states = [reshape(s, (s.shape[0], 1, s.shape[1])) if len(s.shape) == 2 else s for s in states]
        elif batch_first:
            x = transpose(x, [1, 0, 2])
        lasts = []
        for layer in range(num_layers):
            outs = []
            for d in range(n_directions):
                k = layer * n_directions + d
                start = [index(s, [k, slice(None), slice(None)]) for s in states]
                y, last = direction(tr, kind, x, weights[k * per : (k + 1) * per], start, d == 1)
                outs.append(y)
                lasts.append(last)
            x = concat(outs, 2)
        if alone:
            x = index(x, [slice(None), 0, slice(None)])
        elif batch_first:
            x = transpose(x, [1, 0, 2])
        finals = []
        for s in range(n_states):
            parts = [last[s] for last in lasts]
            stacked = stack(parts, 0)
            finals.append(index(stacked, [slice(None), 0, slice(None)]) if alone else stacked)
        return (x, *finals)

    op(kind)(function)


layers("lstm", 2)
layers("gru", 1)
layers("rnn_tanh", 1)
layers("rnn_relu", 1)


# ---- cells: one step


def activations(tr, x, h, w_ih, w_hh, b_ih, b_hh):
    return linear(tr, node(x), w_ih, b_ih), linear(tr, node(h), w_hh, b_hh)


def gate(x, k, hidden):
    return narrow_node(x, len(x.shape) - 1, k * hidden, hidden)


@op("lstm_cell")
def lstm_cell(tr, input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    h, c = [node(s) for s in hx]
    a, b = activations(tr, input, h, w_ih, w_hh, b_ih, b_hh)
    g = by_element("{0:2} + {1:3}", 2, [a, b], a.dtype)
    i, f, n, o = [gate(g, k, h.shape[-1]) for k in range(4)]
    c = by_element("sigmoid({0}) * {1:4} + sigmoid({2}) * tanh({3})", 2, [f, c, i, n], a.dtype)
    return by_element("sigmoid({0}) * tanh({1})", 3, [o, c], a.dtype), c


@op("gru_cell")
def gru_cell(tr, input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    h = node(hx)
    a, b = activations(tr, input, h, w_ih, w_hh, b_ih, b_hh)
    (xr, xz, xn), (hr, hz, hn) = [[gate(v, k, h.shape[-1]) for k in range(3)] for v in (a, b)]
    r, z = [by_element("sigmoid({0:2} + {1:3})", ATOM, [p, q], a.dtype) for p, q in ((xr, hr), (xz, hz))]
    n = by_element("tanh({0:2} + {1:3} * {2:4})", ATOM, [xn, r, hn], a.dtype)
    return by_element("(1 - {0:3}) * {1:4} + {0:3} * {2:4}", 2, [z, n, h], a.dtype)


for name, function in (("rnn_tanh_cell", "tanh"), ("rnn_relu_cell", "relu")):

    def cell(tr, input, hx, w_ih, w_hh, b_ih=None, b_hh=None, function=function):
        a, b = activations(tr, input, hx, w_ih, w_hh, b_ih, b_hh)
        return by_element(function + "({0:2} + {1:3})", ATOM, [a, b], a.dtype)

    op(name)(cell)
