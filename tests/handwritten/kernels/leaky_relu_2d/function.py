"""Leaky ReLU with a learned slope for each channel."""

import torch

import mirage


@mirage.optimize(inputs=[((100, 70), "fp32"), ((70,), "fp32")])
def leaky_relu_2d(x, slope):
    return torch.where(x > 0, x, x * slope)
