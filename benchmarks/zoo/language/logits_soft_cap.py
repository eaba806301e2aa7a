"""The logits of Gemma-2-9B, held within thirty."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"w": ("weight", 1)}


@mirage.optimize(
    inputs=[[((1, 3584), "bf16"), ((256000, 3584), "bf16")], [((16, 3584), "bf16"), ((256000, 3584), "bf16")]]
)
def logits_soft_cap(x, w):
    logits = x @ w.t()
    return 30.0 * torch.tanh(logits / 30.0)
