"""One Lion step for a weight of ViT-H: the sign of a mixture moves it."""

import torch

import mirage


@mirage.optimize(inputs=[((5120, 1280), "fp32"), ((5120, 1280), "fp32"), ((5120, 1280), "fp32")])
def lion_step(p, g, m):
    update = torch.sign(0.9 * m + 0.1 * g)
    return p * (1 - 1e-4 * 0.3) - 1e-4 * update, 0.99 * m + 0.01 * g
