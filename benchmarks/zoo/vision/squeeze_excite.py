"""Squeeze and excitation of EfficientNet-B0: channels are scaled by a gate from their means."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1)}


@mirage.optimize(
    inputs=[((32, 240, 28, 28), "fp16"), ((10, 240), "fp16"), ((10,), "fp16"), ((240, 10), "fp16"), ((240,), "fp16")]
)
def squeeze_excite(x, w1, b1, w2, b2):
    s = x.mean((2, 3))
    s = torch.sigmoid(F.linear(F.silu(F.linear(s, w1, b1)), w2, b2))
    return x * s[:, :, None, None]
