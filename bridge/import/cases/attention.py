"""Attention in several forms, embeddings, a transformer's layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, vocabulary, dim, heads):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, dim)
        self.positions = nn.Parameter(torch.zeros(1, 6, dim))
        nn.init.trunc_normal_(self.positions, std=0.02)
        self.layer = nn.TransformerEncoderLayer(dim, heads, 16, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, heads, 16, activation="gelu"), num_layers=2)
        self.cross = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.heads = heads

    def forward(self, ids):
        x = self.tokens(ids) + self.positions
        x = self.layers(self.layer(x))
        b, t, d = x.shape
        q = x.view(b, t, self.heads, d // self.heads).transpose(1, 2)
        plain = F.scaled_dot_product_attention(q, q, q)
        causal = F.scaled_dot_product_attention(q, q * 2, q, is_causal=True)
        keep = torch.ones(t, t, dtype=torch.bool).tril(1)
        masked = F.scaled_dot_product_attention(q, q, q, attn_mask=keep) + F.scaled_dot_product_attention(q, q, q, attn_mask=keep.float())
        crossed, weights = self.cross(x, x[:, :3], x[:, 1:4])
        return x, plain, causal, masked, crossed, weights, F.one_hot(ids, 7).float() @ self.tokens.weight


vocabulary = 7
dim = 8


def get_inputs():
    return [torch.randint(0, vocabulary, (2, 6))]


def get_init_inputs():
    return [vocabulary, dim, 2]
