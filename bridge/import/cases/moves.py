"""Views, writes through them, indexing, concatenation: what PyTorch does with places."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.tril(torch.ones(6, 6)).view(1, 6, 6))
        grid = torch.stack(torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")).flatten(1)
        apart = (grid[:, :, None] - grid[:, None, :]).permute(1, 2, 0).contiguous()
        apart[:, :, 0] += 1
        apart[:, :, 0] *= 5
        self.register_buffer("places", apart.sum(-1) + 2)
        self.table = nn.Parameter(torch.randn(15, 2))

    def forward(self, x, ids):
        b, t, d = x.shape
        y = x.clone()
        y[:, 1:3] = x[:, :2] * 2
        y[0, :, ::2] += 1
        part = y.transpose(1, 2)
        part[:, 0].mul_(3)
        first, second = y.chunk(2, dim=-1)
        heads = y.view(b, t, 2, d // 2).permute(0, 2, 1, 3)
        scores = (heads @ heads.transpose(-2, -1)).masked_fill(self.mask[:, :t, :t] == 0, float("-inf"))
        bias = self.table[self.places.view(-1)].view(6, 6, -1).permute(2, 0, 1).contiguous()
        scores = scores.softmax(-1) + bias.unsqueeze(0)
        joined = torch.cat([first, second * 2, torch.zeros_like(first)], dim=2)
        rolled = torch.roll(x, shifts=(1, -2), dims=(1, 2)) + x.flip(1)
        windows = x.unfold(1, 2, 2).sum(-1).repeat_interleave(2, 1) + x.unfold(1, 3, 1)[..., 0].repeat(1, 2, 1)[:, :t]
        padded = F.pad(x, (1, 2), value=0.5)[:, :, 1:-2] + F.pad(x, (1, 1), mode="reflect")[..., 2:] + F.pad(x, (2, 0), mode="replicate")[..., :d]
        picked = x[:, ids] + torch.gather(x, 1, ids[None, :, None].expand(b, t, d)) + x[torch.arange(b)[:, None], ids[None, :]]
        stacked = torch.stack([x.select(1, i) for i in range(20 % t + 1)] * 9, 1).mean(1)
        a, *rest = torch.split(x, [1, 2, 3], 1)
        spread = a.expand(b, 2, d) + rest[0].narrow(1, 0, 2) + x.unbind(1)[-1][:, None].squeeze(1).unsqueeze(1)
        out = torch.empty(b, t)
        for i in range(t):
            out[:, i] = x[:, i].sum(-1)
        tri = torch.triu(x @ x.mT, diagonal=1) + torch.diag(out[0])
        shuffled = F.pixel_shuffle(x.reshape(b, 4, 3, 2), 2)
        return y, scores, joined, rolled, windows, padded, picked, stacked, spread, out, tri, shuffled


def get_inputs():
    return [torch.randn(3, 6, 4), torch.randint(0, 6, (6,))]
