"""All sixteen experts of a Phi-3.5-MoE-like layer on a few tokens, by batched products."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((16, 2, 4096), "bf16"), ((16, 4096, 6400), "bf16"), ((16, 6400, 4096), "bf16")],
        [((16, 64, 4096), "bf16"), ((16, 4096, 6400), "bf16"), ((16, 6400, 4096), "bf16")],
    ]
)
def all_experts_batched(x, w1, w2):
    return torch.bmm(F.gelu(torch.bmm(x, w1)), w2)
