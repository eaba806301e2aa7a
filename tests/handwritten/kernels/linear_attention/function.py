"""Causal linear attention: a lower triangle of products without a softmax."""

import torch

import mirage


@mirage.optimize(inputs=[((3, 96, 16), "fp32"), ((3, 96, 16), "fp32"), ((3, 96, 32), "fp32")])
def linear_attention(q, k, v):
    return torch.tril(q @ k.transpose(1, 2)) @ v
