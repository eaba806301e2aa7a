"""Attentive statistics pooling of ECAPA-TDNN: weighted mean and deviation over time."""

import torch

import mirage


@mirage.optimize(inputs=[((32, 1536, 300), "fp32"), ((32, 1536, 300), "fp32")])
def statistics_pooling(x, scores):
    w = torch.softmax(scores, dim=2)
    mean = (x * w).sum(2)
    std = ((x.pow(2) * w).sum(2) - mean.pow(2)).clamp(min=1e-4).sqrt()
    return torch.cat((mean, std), dim=1)
