"""The turned queries of SAM 2's memory attention, real and imaginary parts side by side."""

import torch

import mirage

INPUTS = {"cos": ("cos",), "sin": ("sin",)}


@mirage.optimize(inputs=[((1, 1, 4096, 128, 2), "bf16"), ((4096, 128), "bf16"), ((4096, 128), "bf16")])
def rotary_2d_sam(x, cos, sin):
    re, im = x.unbind(-1)
    return torch.stack((re * cos - im * sin, re * sin + im * cos), -1).flatten(-2)
