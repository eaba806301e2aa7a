"""Group norm with 32 groups and SiLU of a latent diffusion autoencoder's decoder."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((2, 256, 128, 128), "fp16"), ((256,), "fp16"), ((256,), "fp16")])
def group_norm_silu(x, weight, bias):
    return F.silu(F.group_norm(x, 32, weight, bias, 1e-6))
