"""Half precision: PyTorch rounds after every operation, and so does the problem."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 6, dtype=torch.bfloat16)
        self.b = nn.Linear(6, 4).to(torch.bfloat16)

    def forward(self, x, n=2.0):
        y = torch.relu(self.a(x)) * n
        return self.b(y) + 1, y.float().sum(-1)


model = Net()
example_inputs = {"x": torch.randn(3, 8).bfloat16(), "n": 0.5}
