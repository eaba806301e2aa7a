"""Grouped-query attention for one new token."""

import torch

import mirage


@mirage.optimize(inputs=[((2, 4, 64), "fp16"), ((2, 300, 64), "fp16"), ((2, 300, 64), "fp16")])
def gqa_decode(q, k, v):
    """Queries are (key heads, query heads of each, d), keys and values (key heads, keys, d)."""
    scores = torch.bmm(q.float(), k.float().transpose(1, 2)) * 0.125
    return torch.bmm(scores.softmax(-1), v.float()).to(torch.float16)
