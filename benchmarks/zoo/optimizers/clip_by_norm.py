"""A gradient of LLaMA-2-7B's embedding clipped to norm one."""

import torch

import mirage


@mirage.optimize(inputs=[((32000, 4096), "fp32")])
def clip_by_norm(g):
    norm = torch.linalg.vector_norm(g)
    return g * torch.clamp(1.0 / (norm + 1e-6), max=1.0)
