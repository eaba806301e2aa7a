"""Residual addition and RMS normalization; the sum is an output too."""

import torch

import mirage


@mirage.optimize(inputs=[((32, 600), "bf16"), ((32, 600), "bf16"), ((600,), "bf16")])
def rms_norm_residual(x, residual, weight):
    total = x.float() + residual.float()
    scale = torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-6)
    return (total * scale * weight.float()).to(torch.bfloat16), total.to(torch.bfloat16)
