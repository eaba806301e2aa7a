"""A linear layer with bias and leaky ReLU."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((96, 160), "bf16"), ((112, 160), "bf16"), ((112,), "bf16")])
def matmul_leaky(x, weight, bias):
    return F.leaky_relu(F.linear(x, weight, bias), 0.01)
