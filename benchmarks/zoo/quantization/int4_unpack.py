"""Weights of four bits, two in a byte, unpacked and scaled by groups as AWQ's models of LLaMA-2-7B keep them."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"scale": ("positive", 0.002)}
FIXED = (2048, 4096)


@mirage.optimize(
    inputs=[
        [((1, 4096), "fp16"), ((4096, 2048), "int8"), ((4096, 32), "fp16")],
        [((64, 4096), "fp16"), ((4096, 2048), "int8"), ((4096, 32), "fp16")],
    ]
)
def int4_unpack(x, packed, scale):
    low = (packed << 4) >> 4
    high = packed >> 4
    w = torch.stack((low, high), dim=-1).view(packed.shape[0], scale.shape[1], -1)
    return F.linear(x, (w.to(x.dtype) * scale.unsqueeze(-1)).flatten(1))
