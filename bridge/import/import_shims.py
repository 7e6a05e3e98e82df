"""Functions that PyTorch 2 has and Debian 12's 1.13 lacks, so that files written for 2 run there too."""

import math

import torch
from torch.overrides import handle_torch_function, has_torch_function


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if has_torch_function((query, key, value)):
        return handle_torch_function(
            scaled_dot_product_attention, (query, key, value), query, key, value,
            attn_mask=attn_mask, dropout_p=dropout_p, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa,
        )  # fmt: skip
    scores = query @ key.transpose(-2, -1) * (scale if scale is not None else 1 / math.sqrt(query.shape[-1]))
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype is torch.bool:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    return torch.softmax(scores, -1) @ value


def install():
    functional = torch.nn.functional
    if not hasattr(functional, "scaled_dot_product_attention"):
        functional.scaled_dot_product_attention = scaled_dot_product_attention
