"""A field-weighted factorization machine: each pair of fields has a weight."""

import torch

import mirage


@mirage.optimize(inputs=[((8192, 39, 32), "fp32"), ((39, 39), "fp32")])
def field_weighted_fm(emb, weights):
    pairs = emb @ emb.transpose(1, 2)
    return torch.triu(pairs * weights, diagonal=1).sum(dim=(1, 2))
