"""Normalisations; BatchNorm is in training mode, one of them without statistics of its own."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.batch = nn.BatchNorm2d(4, eps=1e-3)
        self.frozen = nn.BatchNorm2d(4, affine=False).eval()
        self.used = nn.BatchNorm1d(4).eval()
        self.group = nn.GroupNorm(2, 4)
        self.instance = nn.InstanceNorm2d(4, affine=True)
        self.layer = nn.LayerNorm(6)
        self.image = nn.LayerNorm([4, 6, 6], elementwise_affine=False)
        self.lrn = nn.LocalResponseNorm(2)
        nn.init.normal_(self.layer.weight, 1.0, 0.2)
        nn.init.xavier_uniform_(self.batch.weight.view(2, 2))

    def forward(self, x):
        rms = x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5)
        y = self.batch(x) + self.group(x) + self.instance(x) + self.layer(x) + self.image(x) + self.lrn(x) + rms
        return y, self.frozen(x), self.used(x[..., 0]), F.instance_norm(x), F.group_norm(x, 4), F.layer_norm(x, (6, 6))


features = 4


def get_inputs():
    return [torch.rand(3, features, 6, 6)]
