"""Retention of a RetNet of 1.3 billion parameters in its parallel form, with a decay for each head."""

import torch

import mirage

INPUTS = {"decay": ("uniform", 0.001, 0.1)}


@mirage.optimize(
    inputs=[((1, 8, 2048, 256), "bf16"), ((1, 8, 2048, 256), "bf16"), ((1, 8, 2048, 512), "bf16"), ((8,), "fp32")]
)
def retention_parallel(q, k, v, decay):
    i = torch.arange(q.shape[2], device=q.device)
    distance = (i[:, None] - i[None, :]).float()
    mask = torch.where(distance >= 0, torch.exp(-decay[:, None, None] * distance), 0.0)
    scores = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    return (scores * mask.to(q.dtype)) @ v
