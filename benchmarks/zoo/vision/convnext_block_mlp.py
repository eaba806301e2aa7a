"""The pointwise half of a ConvNeXt-S block of the isotropic kind in channels-last order, and the shortcut."""

import torch.nn.functional as F

import mirage

INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1)}


@mirage.optimize(
    inputs=[
        ((12544, 384), "fp16"),
        ((12544, 384), "fp16"),
        ((384,), "fp16"),
        ((384,), "fp16"),
        ((1536, 384), "fp16"),
        ((1536,), "fp16"),
        ((384, 1536), "fp16"),
        ((384,), "fp16"),
    ]
)
def convnext_block_mlp(shortcut, x, g, b, w1, b1, w2, b2):
    h = F.layer_norm(x, (x.shape[-1],), g, b, 1e-6)
    h = F.linear(F.gelu(F.linear(h, w1, b1)), w2, b2)
    return shortcut + h
