"""The global response norm of ConvNeXt V2-T: channels compete by their norms over the image."""

import torch

import mirage


@mirage.optimize(inputs=[((16, 14, 14, 1536), "fp32"), ((1536,), "fp32"), ((1536,), "fp32")])
def global_response_norm(x, gamma, beta):
    gx = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
    nx = gx / (gx.mean(dim=-1, keepdim=True) + 1e-6)
    return gamma * (x * nx) + beta + x
