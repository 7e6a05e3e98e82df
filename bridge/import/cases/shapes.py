"""Python that asks for shapes and small constants: branches, loops, drop rates from a tensor."""

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, dim, rate):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.rate = rate
        self.drop = nn.Dropout(rate) if rate > 0 else nn.Identity()

    def forward(self, x):
        if x.shape[-1] % 2 == 0 and x.dim() == 2:
            return x + self.drop(self.fc(x)) * (1 - self.rate)
        raise ValueError("never")


class Model(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        rates = [r.item() for r in torch.linspace(0, 0.2, depth)]
        self.blocks = nn.ModuleList([Block(dim, r) for r in rates])
        self.register_buffer("slopes", torch.tensor([2.0 ** -(i + 1) for i in range(dim)]))
        self.scale = nn.Parameter(torch.log(10 * torch.ones((1, 1))))
        self.apply(self.begin)

    def begin(self, m):
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            nn.init.constant_(m.bias, 0.5)

    def forward(self, x, k):
        n = len(x)
        for block in self.blocks:
            x = block(x)
        x = x * self.slopes * torch.clamp(self.scale, max=4.0).exp() + k
        steps = torch.arange(n, dtype=torch.float32, device=x.device)[:, None]
        if torch.tensor(3) > 2:
            x = x + steps / n
        x += 1
        return x.reshape(-1) if x.numel() > 4 else x


n = 3
dim = 4


def get_inputs():
    return [torch.rand(n, dim) * 2 - 1, 3]


def get_init_inputs():
    return [dim, 3]
