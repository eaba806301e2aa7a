"""A product with squared ReLU."""

import torch

import mirage


@mirage.optimize(inputs=[((1024, 1024), "fp16"), ((1024, 2048), "fp16")])
def matmul_persistent(a, b):
    return torch.relu(a @ b).square()
