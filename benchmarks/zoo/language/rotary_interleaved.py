"""Rotary position embedding of GPT-J-6B: even and odd elements make the pairs."""

import torch

import mirage

INPUTS = {"cos": ("cos",), "sin": ("sin",)}


@mirage.optimize(inputs=[((2, 2048, 16, 256), "fp16"), ((2048, 1, 128), "fp16"), ((2048, 1, 128), "fp16")])
def rotary_interleaved(x, cos, sin):
    even, odd = x[..., ::2], x[..., 1::2]
    out = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return out.flatten(-2)
