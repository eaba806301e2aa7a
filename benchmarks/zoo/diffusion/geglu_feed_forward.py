"""GEGLU of a Stable Diffusion XL transformer block."""

import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}


@mirage.optimize(inputs=[((8192, 640), "fp16"), ((5120, 640), "fp16"), ((5120,), "fp16")])
def geglu_feed_forward(x, w, b):
    h, gate = F.linear(x, w, b).chunk(2, dim=-1)
    return h * F.gelu(gate)
