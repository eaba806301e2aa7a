"""A product of two half-precision matrices."""

import torch

import mirage


@mirage.optimize(inputs=[((200, 144), "fp16"), ((144, 232), "fp16")])
def matmul_grouped(a, b):
    return torch.matmul(a, b)
