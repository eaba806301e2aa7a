"""Self-attention of T5-large's encoder: no scale, and a bias for each head and pair of positions."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"q": ("normal", 0.125)}


@mirage.optimize(
    inputs=[
        ((4, 16, 512, 64), "bf16"),
        ((4, 16, 512, 64), "bf16"),
        ((4, 16, 512, 64), "bf16"),
        ((1, 16, 512, 512), "bf16"),
    ]
)
def t5_relative_bias_attention(q, k, v, position_bias):
    scores = torch.matmul(q, k.transpose(3, 2))
    scores = scores + position_bias
    weights = F.softmax(scores.float(), dim=-1).type_as(scores)
    return torch.matmul(weights, v)
