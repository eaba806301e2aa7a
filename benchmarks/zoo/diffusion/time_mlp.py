"""The MLP after the sinusoids in Stable Diffusion 1.5."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((2, 320), "fp16"), ((1280, 320), "fp16"), ((1280,), "fp16"), ((1280, 1280), "fp16"), ((1280,), "fp16")],
        [((16, 320), "fp16"), ((1280, 320), "fp16"), ((1280,), "fp16"), ((1280, 1280), "fp16"), ((1280,), "fp16")],
    ]
)
def time_mlp(x, w1, b1, w2, b2):
    return F.linear(F.silu(F.linear(x, w1, b1)), w2, b2)
