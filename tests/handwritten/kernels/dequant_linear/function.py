"""A linear layer with 8-bit weights and a scale for each row of them."""

import torch

import mirage


@mirage.optimize(inputs=[((20, 256), "fp16"), ((96, 256), "int8"), ((96,), "fp32")])
def dequant_linear(x, weight, scale):
    full = weight.float() * scale[:, None]
    return (x.float() @ full.t()).to(torch.float16)
