"""A word drawn by the largest of logits and Gumbel noise, from uniform numbers."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"u": ("uniform", 0.001, 0.999)}


@mirage.optimize(inputs=[[((1, 32000), "fp32"), ((1, 32000), "fp32")], [((64, 32000), "fp32"), ((64, 32000), "fp32")]])
def gumbel_argmax(logits, u):
    return torch.argmax(logits - torch.log(-torch.log(u)), dim=-1)
