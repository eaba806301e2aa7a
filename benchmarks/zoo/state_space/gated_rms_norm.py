"""The gated norm of Mamba-2-2.7B before the output projection."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((1, 5120), "bf16"), ((1, 5120), "bf16"), ((5120,), "bf16"), ((2560, 5120), "bf16")],
        [((2048, 5120), "bf16"), ((2048, 5120), "bf16"), ((5120,), "bf16"), ((2560, 5120), "bf16")],
    ]
)
def gated_rms_norm(y, z, g, w):
    y = (y * F.silu(z)).float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)
    return F.linear(y.to(z.dtype) * g, w)
