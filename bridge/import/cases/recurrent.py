"""Recurrent layers and cells, loops over time in Python, and a state that forward() draws."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, num_layers=2, batch_first=True, bidirectional=True, dropout=0.3)
        self.gru = nn.GRU(3, 5, num_layers=2, bias=False)
        self.rnn = nn.RNN(3, 4, nonlinearity="relu", batch_first=True)
        self.cell, self.step, self.plain = nn.LSTMCell(3, 4), nn.GRUCell(3, 4), nn.RNNCell(3, 4)
        self.start = torch.randn(1, 2, 4)
        self.mix = nn.Linear(3 + 4, 4)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        g, last = self.gru(x.transpose(0, 1))
        r, _ = self.rnn(x, self.start.to(x.device))
        alone, _ = self.rnn(x[0])
        h1, c1 = self.cell(x[:, 0])
        state, outputs = torch.randn(2, 4), []
        for t in range(x.size(1)):
            state = torch.tanh(self.mix(torch.cat([x[:, t], state], dim=1)))
            outputs.append(state)
        return y[:, -1], h, c, g, last, r, alone, h1, c1, self.step(x[:, 0]), self.plain(x[:, 1]), torch.stack(outputs, dim=1)


example_inputs = torch.randn(2, 5, 3)
