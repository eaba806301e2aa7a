"""The MLP of Pythia-6.9B with biases."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((8, 4096), "fp16"), ((16384, 4096), "fp16"), ((16384,), "fp16"), ((4096, 16384), "fp16"), ((4096,), "fp16")],
        [
            ((2048, 4096), "fp16"),
            ((16384, 4096), "fp16"),
            ((16384,), "fp16"),
            ((4096, 16384), "fp16"),
            ((4096,), "fp16"),
        ],
    ]
)
def gpt_neox_mlp(x, w1, b1, w2, b2):
    return F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2)
