"""A modulated norm and the first product of a single block of FLUX.1."""

import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}


@mirage.optimize(
    inputs=[
        ((1, 4608, 3072), "bf16"),
        ((1, 1, 3072), "bf16"),
        ((1, 1, 3072), "bf16"),
        ((21504, 3072), "bf16"),
        ((21504,), "bf16"),
    ]
)
def adaln_linear_flux(x, shift, scale, w, b):
    h = (1 + scale) * F.layer_norm(x, (x.shape[-1],), eps=1e-6) + shift
    return F.linear(h, w, b)
