"""The sum of squares of all elements."""

import torch

import mirage


@mirage.optimize(inputs=[((70, 90), "fp32")])
def total_sum(x):
    return torch.sum(x * x)
