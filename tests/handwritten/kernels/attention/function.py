"""Attention over a few heads."""

import torch

import mirage


@mirage.optimize(inputs=[((3, 100, 64), "fp16"), ((3, 140, 64), "fp16"), ((3, 140, 64), "fp16")])
def attention(q, k, v):
    scores = torch.matmul(q.float(), k.float().transpose(-2, -1)) * 0.125
    return torch.matmul(torch.softmax(scores, dim=-1), v.float()).to(torch.float16)
