"""Causal attention of BLOOM-7B1, whose scores fall with the distance by a slope for each head."""

import torch

import mirage

INPUTS = {"slopes": ("positive", 0.1)}


@mirage.optimize(
    inputs=[((1, 32, 1024, 128), "fp16"), ((1, 32, 1024, 128), "fp16"), ((1, 32, 1024, 128), "fp16"), ((32,), "fp16")]
)
def alibi_attention(q, k, v, slopes):
    pos = torch.arange(k.shape[-2], device=q.device)
    distance = pos[None, :] - pos[:, None]
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + slopes[:, None, None] * distance
    scores = scores.masked_fill(distance > 0, float("-inf"))
    return scores.softmax(-1) @ v
