"""The weights of BitNet b1.58 at three values, scaled by their mean size, and the product."""

import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}


@mirage.optimize(inputs=[((512, 2560), "bf16"), ((2560, 2560), "bf16")])
def ternary_weights(x, w):
    scale = w.abs().mean().clamp(min=1e-5)
    return F.linear(x, (w / scale).round().clamp(-1, 1)) * scale
