"""Losses, with each kind of reduction somewhere."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.triplet = nn.TripletMarginLoss(margin=0.7)

    def forward(self, x, z, p, t, label):
        regressions = F.mse_loss(x, z), F.l1_loss(x, z, reduction="sum"), F.smooth_l1_loss(x, z), F.huber_loss(x, z, delta=0.4)
        more = F.mse_loss(x, z, reduction="none"), F.smooth_l1_loss(x, z, beta=0.5, reduction="sum"), F.huber_loss(x, z, reduction="sum")
        classes = F.cross_entropy(x, t), F.cross_entropy(x, t, label_smoothing=0.1, reduction="sum"), F.nll_loss(F.log_softmax(x, 1), t)
        soft = F.cross_entropy(x, p.softmax(1)), F.cross_entropy(x[0], t[0])
        chances = F.binary_cross_entropy(p, p.flip(0)), F.binary_cross_entropy_with_logits(x, p, reduction="sum"), F.kl_div(p.log(), p.flip(1), reduction="batchmean")
        kl = F.kl_div(F.log_softmax(x, 1), p.softmax(1)), F.kl_div(p.log(), p.flip(1).log(), reduction="sum", log_target=True)
        hinges = torch.mean(torch.clamp(1 - x * label[:, None], min=0)), F.hinge_embedding_loss(x[:, 0], label), F.soft_margin_loss(x[:, 0], label)
        pairs = F.margin_ranking_loss(x[:, 0], z[:, 0], label, 0.1), F.cosine_embedding_loss(x, z, label), self.triplet(x, z, p)
        counts = F.poisson_nll_loss(x, p), F.gaussian_nll_loss(x, z, p + 0.5), F.pairwise_distance(x, z), F.triplet_margin_loss(x, z, p, swap=True)
        return regressions, more, classes, soft, chances, kl, hinges, pairs, counts


def get_inputs():
    n, c = 4, 5
    return [torch.randn(n, c), torch.randn(n, c), torch.rand(n, c) * 0.8 + 0.1, torch.randint(0, c, (n,)), torch.randint(0, 2, (n,)).float() * 2 - 1]
