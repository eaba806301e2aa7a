"""The largest value of each row."""

import torch

import mirage


@mirage.optimize(inputs=[((64, 1000), "bf16")])
def row_max(x):
    return torch.amax(x, dim=1)
