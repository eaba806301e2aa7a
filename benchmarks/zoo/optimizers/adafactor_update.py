"""The update of Adafactor from its factored moments, clipped by its own root mean square."""

import torch

import mirage

INPUTS = {"row": ("positive",), "col": ("positive",)}


@mirage.optimize(inputs=[((16384, 1024), "fp32"), ((16384,), "fp32"), ((1024,), "fp32")])
def adafactor_update(g, row, col):
    r = (row / row.mean()).rsqrt().unsqueeze(-1)
    u = g * r * col.rsqrt().unsqueeze(0)
    rms = u.pow(2).mean().sqrt()
    return u / torch.clamp(rms, min=1.0)
