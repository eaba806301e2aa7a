"""The end of a ResNet-50 block: batch norm written as a scale and a shift, the shortcut, ReLU."""

import torch

import mirage

INPUTS = {"var": ("positive",)}


@mirage.optimize(
    inputs=[
        ((16, 1024, 14, 14), "fp16"),
        ((16, 1024, 14, 14), "fp16"),
        ((1024,), "fp32"),
        ((1024,), "fp32"),
        ((1024,), "fp32"),
        ((1024,), "fp32"),
    ]
)
def batch_norm_add_relu(x, shortcut, mean, var, weight, bias):
    scale = weight / torch.sqrt(var + 1e-5)
    shift = bias - mean * scale
    y = x * scale[None, :, None, None].to(x.dtype) + shift[None, :, None, None].to(x.dtype)
    return torch.relu(y + shortcut)
