"""Causal attention whose scores are capped by tanh."""

import torch

import mirage


@mirage.optimize(inputs=[((2, 75, 32), "fp32"), ((2, 75, 32), "fp32"), ((2, 75, 32), "fp32")])
def attention_softcap(q, k, v):
    scores = q @ k.transpose(-1, -2) * 0.5
    scores = 4.0 * torch.tanh(scores / 4.0)
    mask = torch.ones(75, 75, dtype=torch.bool, device=q.device).tril()
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v
