"""The loss of Barlow Twins: the correlation of two views' features should be the identity."""

import torch

import mirage


@mirage.optimize(inputs=[((1024, 2048), "fp32"), ((1024, 2048), "fp32")])
def barlow_twins(a, b):
    a = (a - a.mean(0)) / a.std(0)
    b = (b - b.mean(0)) / b.std(0)
    c = a.T @ b / a.shape[0]
    on = (torch.diagonal(c) - 1).pow(2).sum()
    off = c.pow(2).sum() - torch.diagonal(c).pow(2).sum()
    return on + 0.005 * off
