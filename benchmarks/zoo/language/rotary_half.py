"""Rotary position embedding of LLaMA: halves are turned against each other, for queries and keys."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"cos": ("cos",), "sin": ("sin",)}


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


@mirage.optimize(
    inputs=[
        [((1, 32, 1, 128), "bf16"), ((1, 8, 1, 128), "bf16"), ((1, 128), "bf16"), ((1, 128), "bf16")],
        [((1, 32, 4096, 128), "bf16"), ((1, 8, 4096, 128), "bf16"), ((4096, 128), "bf16"), ((4096, 128), "bf16")],
    ]
)
def rotary_half(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
