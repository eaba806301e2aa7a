"""The latent's distribution of Stable Diffusion's autoencoder: a sample and the divergence from the standard normal one."""

import torch

import mirage


@mirage.optimize(inputs=[((8, 8, 64, 64), "fp32"), ((8, 4, 64, 64), "fp32")])
def kl_gaussian_latent(moments, noise):
    mean, logvar = torch.chunk(moments, 2, dim=1)
    logvar = torch.clamp(logvar, -30.0, 20.0)
    z = mean + torch.exp(0.5 * logvar) * noise
    return z, 0.5 * torch.sum(mean**2 + logvar.exp() - 1.0 - logvar, dim=[1, 2, 3])
