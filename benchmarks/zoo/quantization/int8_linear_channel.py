"""A projection of LLaMA-2-7B with weights of eight bits and a scale for each output channel."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"scale": ("positive", 0.0002)}


@mirage.optimize(
    inputs=[
        [((1, 4096), "fp16"), ((4096, 4096), "int8"), ((4096,), "fp16")],
        [((256, 4096), "fp16"), ((4096, 4096), "int8"), ((4096,), "fp16")],
    ]
)
def int8_linear_channel(x, w, scale):
    return F.linear(x, w.to(x.dtype)) * scale
