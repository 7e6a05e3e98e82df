"""Arithmetic, comparisons, activations and types."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.prelu = nn.PReLU(3)
        self.act = nn.Sequential(nn.ELU(0.7), nn.Hardswish(inplace=True), nn.LeakyReLU(0.2))

    def forward(self, x, z, p, c, i):
        arithmetic = (2 - x) / (1 + z.abs()) + x**2 - x**3 * 0.5 + 3 // (i + 1) - (i % 3) + torch.rsqrt(p)
        tops = torch.max(x, z) + torch.minimum(x, z).clamp(min=-0.5) + x.clamp(-0.2, 0.3) + torch.clamp(z, max=0.1)
        picked = torch.where(c & (x > 0) | ~(z <= 0.1), x, z) + torch.where(x != z, 1.0, 0.0)
        masked = x.masked_fill(c, -1.5) + c.float() + (c * x)
        curves = torch.exp(-x) + torch.log(p) + torch.sin(z) * torch.tanh(x) + torch.erf(z) + torch.log1p(p)
        gates = F.gelu(x) + F.gelu(z, approximate="tanh") + F.silu(x) * torch.sigmoid(z) + F.mish(x)
        soft = F.softplus(x, beta=2) + F.softsign(z) + F.hardsigmoid(x) + F.relu6(z * 9) + F.logsigmoid(x)
        shrunk = F.hardshrink(x, 0.3) + F.softshrink(z) + F.tanhshrink(x) + F.threshold(x, 0.1, 20) + F.celu(z, 2.0)
        new_gelu = 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
        whole = (i * 3 - 7) // 2 + (i << 1) - (i & 5) + torch.div(i, 4, rounding_mode="floor")
        mixed = torch.lerp(x, z, 0.25) + torch.addcmul(x, z, p, value=0.5) - torch.hypot(x, z) + F.hardtanh(x, -0.1, 0.4)
        return {
            "arithmetic": arithmetic, "tops": tops, "picked": picked, "masked": masked, "curves": curves,
            "gates": gates, "soft": soft, "shrunk": shrunk, "new_gelu": new_gelu, "whole": whole,
            "mixed": mixed, "own": self.act(self.prelu(x)), "gated": F.glu(F.pad(x, (0, 1)), -1),
            "truth": torch.isfinite(x) & (i == 2).logical_or(c), "as_long": (x * 4).long() + i,
        }  # fmt: skip


rows = 4


def get_inputs():
    scale = torch.rand(())
    return [
        torch.randn(rows, 3, 5) * 0.5 + 0.25,
        torch.randn(rows, 3, 5) * scale,
        torch.rand(rows, 3, 5) * 0.5 + 0.5,
        torch.randint(0, 2, (rows, 3, 5)).bool(),
        torch.randint(0, 9, (rows, 3, 5)),
    ]
