"""A gated residual: x + sigmoid(g) * tanh(y), limited to a range."""

import torch

import mirage


@mirage.optimize(inputs=[((17, 301), "fp32"), ((17, 301), "fp32"), ((17, 301), "fp32")])
def elementwise_chain(x, y, g):
    return torch.clamp(x + torch.sigmoid(g) * torch.tanh(y), -1.5, 1.5)
