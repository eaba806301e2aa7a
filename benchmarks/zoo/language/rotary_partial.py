"""Rotary position embedding of Pythia-6.9B, which turns the first quarter of each head only."""

import torch

import mirage

INPUTS = {"cos": ("cos",), "sin": ("sin",)}


@mirage.optimize(inputs=[((2, 32, 2048, 128), "fp16"), ((2048, 32), "fp16"), ((2048, 32), "fp16")])
def rotary_partial(q, cos, sin):
    rot, rest = q[..., :32], q[..., 32:]
    a, b = rot.chunk(2, dim=-1)
    rot = rot * cos + torch.cat((-b, a), dim=-1) * sin
    return torch.cat((rot, rest), dim=-1)
