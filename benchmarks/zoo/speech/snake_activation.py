"""The periodic activation of BigVGAN with a frequency for each channel."""

import torch

import mirage

INPUTS = {"alpha": ("positive",), "beta": ("positive",)}


@mirage.optimize(inputs=[((4, 512, 8192), "fp16"), ((512,), "fp16"), ((512,), "fp16")])
def snake_activation(x, alpha, beta):
    alpha, beta = alpha[None, :, None], beta[None, :, None]
    return x + (1.0 / (beta + 1e-9)) * torch.sin(x * alpha).pow(2)
