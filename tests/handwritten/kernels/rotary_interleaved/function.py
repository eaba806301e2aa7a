"""Rotary position embedding of neighbouring pairs."""

import torch

import mirage


@mirage.optimize(inputs=[((30, 6, 64), "fp16"), ((30, 32), "fp32"), ((30, 32), "fp32")])
def rotary_interleaved(x, cos, sin):
    pairs = x.float().view(30, 6, 32, 2)
    even, odd = pairs[..., 0], pairs[..., 1]
    c, s = cos[:, None, :], sin[:, None, :]
    return torch.stack([even * c - odd * s, even * s + odd * c], dim=-1).view(30, 6, 64).to(torch.float16)
