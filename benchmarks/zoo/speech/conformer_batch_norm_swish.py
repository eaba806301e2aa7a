"""What follows the depthwise convolution of a Conformer-L: batch norm at inference, swish, a product."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1), "var": ("positive",)}


@mirage.optimize(
    inputs=[
        ((12000, 512), "fp16"),
        ((512,), "fp16"),
        ((512,), "fp16"),
        ((512,), "fp16"),
        ((512,), "fp16"),
        ((512, 512), "fp16"),
    ]
)
def conformer_batch_norm_swish(x, mean, var, gamma, beta, w):
    x = (x - mean) * torch.rsqrt(var + 1e-5) * gamma + beta
    return F.linear(x * torch.sigmoid(x), w)
