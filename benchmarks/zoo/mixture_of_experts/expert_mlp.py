"""One expert of Mixtral-8x7B on the tokens that it was given, weighted by the router."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w1": ("weight", 1), "w3": ("weight", 1), "w2": ("weight", 1), "weight": ("uniform",)}


@mirage.optimize(
    inputs=[
        [
            ((4, 4096), "bf16"),
            ((14336, 4096), "bf16"),
            ((14336, 4096), "bf16"),
            ((4096, 14336), "bf16"),
            ((4, 1), "bf16"),
        ],
        [
            ((512, 4096), "bf16"),
            ((14336, 4096), "bf16"),
            ((14336, 4096), "bf16"),
            ((4096, 14336), "bf16"),
            ((512, 1), "bf16"),
        ],
    ]
)
def expert_mlp(x, w1, w3, w2, weight):
    return F.linear(F.silu(F.linear(x, w1)) * F.linear(x, w3), w2) * weight
