"""Softmax over scores with an additive mask."""

import torch

import mirage


@mirage.optimize(inputs=[((4, 20, 150), "fp32"), ((20, 150), "fp32")])
def masked_softmax(scores, bias):
    return torch.softmax(scores * 0.25 + bias, dim=-1)
