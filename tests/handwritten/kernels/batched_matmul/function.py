"""Batched product; the second factor is given transposed."""

import torch

import mirage


@mirage.optimize(inputs=[((3, 50, 96), "fp16"), ((3, 70, 96), "fp16")])
def batched_matmul(a, b):
    return torch.bmm(a, b.transpose(1, 2))
