"""The norm of Gemma-2-9B: the gain is stored as its distance from one."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"weight": ("normal", 0.1)}


@mirage.optimize(inputs=[[((1, 3584), "bf16"), ((3584,), "bf16")], [((2048, 3584), "bf16"), ((3584,), "bf16")]])
def rms_norm_gemma(x, weight):
    h = x.float()
    h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6)
    return (h * (1.0 + weight.float())).type_as(x)
