"""A product of two matrices whose sizes no tile divides."""

import torch

import mirage


@mirage.optimize(inputs=[((100, 80), "fp16"), ((80, 120), "fp16")])
def matmul_descriptor(a, b):
    return torch.matmul(a, b)
