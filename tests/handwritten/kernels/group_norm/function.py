"""Group normalization of (batch, channels, height * width)."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((2, 12, 35), "fp32"), ((12,), "fp32"), ((12,), "fp32")])
def group_norm(x, weight, bias):
    return F.group_norm(x, 4, weight, bias, eps=1e-5)
