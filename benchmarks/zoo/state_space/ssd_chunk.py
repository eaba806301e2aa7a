"""The part of Mamba-2 within a chunk of 256 tokens: products masked by the decay between two tokens."""

import torch

import mirage

INPUTS = {"a": ("uniform", -0.1, 0.0)}


@mirage.optimize(
    inputs=[((8, 256, 24, 64), "fp32"), ((8, 256, 24), "fp32"), ((8, 256, 128), "fp32"), ((8, 256, 128), "fp32")]
)
def ssd_chunk(x, a, b, c):
    cum = torch.cumsum(a, dim=1).transpose(1, 2)
    decay = torch.tril(torch.exp((cum[..., :, None] - cum[..., None, :]).clamp(max=0.0)))
    scores = (c @ b.transpose(1, 2)).unsqueeze(1) * decay
    return torch.einsum("bhij,bjhd->bihd", scores, x)
