"""The outer product of two vectors, added to a matrix."""

import torch

import mirage


@mirage.optimize(inputs=[((130, 75), "fp32"), ((130,), "fp32"), ((75,), "fp32")])
def outer_product(m, u, v):
    return m * 0.9 + torch.outer(u, v)
