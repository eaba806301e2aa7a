"""The attention of Deep Interest Network: a small MLP scores each item of a user's history against the candidate."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"w1": ("weight", 1), "w2": ("weight", 0)}


@mirage.optimize(
    inputs=[((1024, 64), "fp32"), ((1024, 100, 64), "fp32"), ((80, 256), "fp32"), ((80,), "fp32"), ((80,), "fp32")]
)
def din_attention(query, keys, w1, b1, w2):
    q = query[:, None].expand_as(keys)
    h = torch.sigmoid(F.linear(torch.cat((q, keys, q - keys, q * keys), dim=-1), w1, b1))
    score = h @ w2
    return (score.unsqueeze(-1) * keys).sum(dim=1)
