"""A depthwise causal convolution of width four with SiLU."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((2, 24, 100), "fp32"), ((24, 1, 4), "fp32"), ((24,), "fp32")])
def causal_conv(x, weight, bias):
    return F.silu(F.conv1d(F.pad(x, (3, 0)), weight, bias, groups=24))
