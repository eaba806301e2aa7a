"""The two-layer projector of LLaVA-1.5 from CLIP's width to that of the language model."""

import torch.nn.functional as F

import mirage

INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1)}


@mirage.optimize(
    inputs=[
        ((2304, 1024), "fp16"),
        ((4096, 1024), "fp16"),
        ((4096,), "fp16"),
        ((4096, 4096), "fp16"),
        ((4096,), "fp16"),
    ]
)
def multimodal_projector(x, w1, b1, w2, b2):
    return F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2)
