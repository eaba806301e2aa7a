"""Attention of Gemma-2-9B, whose scores are held within fifty by a hyperbolic tangent."""

import torch

import mirage

INPUTS = {"mask": ("causal",)}


@mirage.optimize(
    inputs=[
        ((1, 16, 2048, 256), "bf16"),
        ((1, 16, 2048, 256), "bf16"),
        ((1, 16, 2048, 256), "bf16"),
        ((2048, 2048), "bool"),
    ]
)
def soft_cap_attention(q, k, v, mask):
    scores = (q @ k.mT) * 256**-0.5
    scores = torch.tanh(scores / 50.0) * 50.0
    scores = scores.masked_fill(mask.logical_not(), -2.3819763e38)
    return torch.softmax(scores.float(), dim=-1).type_as(q) @ v
