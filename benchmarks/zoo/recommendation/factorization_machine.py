"""The second order of a factorization machine over 39 fields, as DeepFM has it."""

import torch

import mirage


@mirage.optimize(inputs=[((32768, 39, 16), "fp32"), ((32768, 39), "fp32"), ((1,), "fp32")])
def factorization_machine(emb, first, bias):
    square_of_sum = emb.sum(dim=1).pow(2)
    sum_of_square = emb.pow(2).sum(dim=1)
    second = 0.5 * (square_of_sum - sum_of_square).sum(dim=1)
    return torch.sigmoid(bias + first.sum(dim=1) + second)
