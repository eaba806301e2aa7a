"""A layer of DCN-V2 with a low-rank matrix."""

import torch.nn.functional as F

import mirage

INPUTS = {"u": ("weight", 0), "v": ("weight", 1)}


@mirage.optimize(
    inputs=[
        ((16384, 1024), "fp16"),
        ((16384, 1024), "fp16"),
        ((256, 1024), "fp16"),
        ((1024, 256), "fp16"),
        ((1024,), "fp16"),
    ]
)
def cross_network_v2(x0, x, v, u, b):
    return x0 * (F.linear(F.linear(x, v), u) + b) + x
