"""Rotary position embedding, the two halves of each head rotated against each other."""

import torch

import mirage


@mirage.optimize(inputs=[((4, 50, 80), "fp32"), ((50, 40), "fp32"), ((50, 40), "fp32")])
def rotary(x, cos, sin):
    half = x.shape[-1] // 2
    x1, x2 = x[..., :half], x[..., half:]
    return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1)
