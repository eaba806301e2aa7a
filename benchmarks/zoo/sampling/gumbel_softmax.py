"""The relaxed choice of a code by Gumbel softmax, as wav2vec 2.0 quantizes."""

import torch

import mirage

INPUTS = {"u": ("uniform", 0.001, 0.999)}


@mirage.optimize(inputs=[((12000, 2, 320), "fp32"), ((12000, 2, 320), "fp32")])
def gumbel_softmax(logits, u):
    noise = -torch.log(-torch.log(u))
    return torch.softmax((logits + noise) / 2.0, dim=-1)
