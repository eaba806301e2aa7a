"""Causal attention of GPT-2 medium as its first code spelled it, with a mask of its own."""

import math

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((4, 16, 1024, 64), "fp16"), ((4, 16, 1024, 64), "fp16"), ((4, 16, 1024, 64), "fp16")])
def causal_attention_by_hand(q, k, v):
    n = q.size(-2)
    scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    mask = torch.tril(torch.ones(n, n, dtype=torch.bool, device=q.device))
    scores = scores.masked_fill(~mask, float("-inf"))
    return F.softmax(scores, dim=-1) @ v
