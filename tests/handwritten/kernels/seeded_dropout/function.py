"""Dropout where given random numbers do not lie above p."""

import torch

import mirage


@mirage.optimize(inputs=[((33, 77), "fp32"), ((33, 77), "fp32")])
def seeded_dropout(x, r):
    return torch.where(r > 0.25, x / 0.75, 0.0)
