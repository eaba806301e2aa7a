"""The contrastive loss of SimCLR over two views of each image, an image itself left out."""

import torch

import mirage

INPUTS = {"z": ("unit",)}


@mirage.optimize(inputs=[((4096, 128), "fp32")])
def nt_xent(z):
    sim = z @ z.t() / 0.5
    n = z.shape[0]
    eye = torch.eye(n, dtype=torch.bool, device=z.device)
    positive = torch.roll(z, n // 2, 0).mul(z).sum(-1) / 0.5
    return (torch.logsumexp(sim.masked_fill(eye, float("-inf")), -1) - positive).mean()
