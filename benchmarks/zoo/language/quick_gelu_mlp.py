"""The MLP of a CLIP text encoder of size L, with its sigmoid form of GELU."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1)}


@mirage.optimize(
    inputs=[((616, 768), "fp16"), ((3072, 768), "fp16"), ((3072,), "fp16"), ((768, 3072), "fp16"), ((768,), "fp16")]
)
def quick_gelu_mlp(x, w1, b1, w2, b2):
    h = F.linear(x, w1, b1)
    h = h * torch.sigmoid(1.702 * h)
    return F.linear(h, w2, b2)
