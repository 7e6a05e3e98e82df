"""Reductions, running sums, order, products of matrices."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, w, v, c):
        sums = x.sum(1) + x.mean(dim=1) - x.amax(1) * x.min(dim=1).values + x.prod(1)
        spreads = x.var(-1, unbiased=False) + torch.std(x, dim=-1) + torch.logsumexp(x, dim=2) + x.norm(dim=2)
        norms = torch.norm(x, p=1, dim=1, keepdim=True) + x.abs().max(1, keepdim=True)[0] + torch.linalg.vector_norm(x, 3, 1, True)
        places = x.argmax(1) + torch.argmin(x, dim=1) + torch.max(x, 1)[1] + x.argmax()
        counts = c.sum() + c.any(1).long().sum() + c.all() + torch.count_nonzero(x > 0)
        scans = torch.cumsum(x, 1) + x.flip(1).cumprod(dim=1).flip(1)
        best, where = torch.topk(x, 2, dim=-1)
        ordered = torch.sort(x, dim=1, descending=True)[0] + torch.sort(x, 1).values
        soft = F.softmax(x, dim=1) + F.log_softmax(x, -1) + F.normalize(x, dim=1) + F.softmin(x, dim=2)
        mm = torch.bmm(x, w.expand(x.size(0), -1, -1)) + x @ w + torch.matmul(x, w) + torch.einsum("bij,jk->bik", x, w)
        many = torch.einsum("...i,ij->...j", x, w).mean((0, 1)) + torch.tensordot(x, w, 1)[0, 0] + v @ w + torch.mv(w.t(), v)
        added = torch.addmm(x[0, :, :3], x[0], w, beta=0.5, alpha=2.0) + torch.baddbmm(x[..., :3], x, w.repeat(x.size(0), 1, 1))[1]
        lines = torch.outer(v, v) + torch.dot(v, v) + F.linear(v, w.T).sum() + (F.cosine_similarity(x, x * 2 + 1, dim=2)).sum()
        return sums, spreads, norms, places, counts, scans, best, where, ordered, soft, mm, many, added, lines


def get_inputs():
    x = torch.randn(2, 5, 4)
    return [x, torch.randn(4, 3) / 2, torch.rand(4), torch.randint(0, 2, (2, 5)).bool()]
