"""Bias and GELU in the tanh form."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((50, 768), "bf16"), ((768,), "bf16")])
def bias_gelu(x, bias):
    return F.gelu(x + bias, approximate="tanh")
