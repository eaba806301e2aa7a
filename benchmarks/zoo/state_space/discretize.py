"""The discretization of Mamba-1.4B over a prompt: decays and inputs for each channel and state."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"a": ("uniform", -16.0, -1.0), "dt": ("uniform", -6.0, -2.0)}


@mirage.optimize(
    inputs=[((512, 4096), "fp32"), ((4096,), "fp32"), ((4096, 16), "fp32"), ((512, 16), "fp32"), ((512, 4096), "fp32")]
)
def discretize(dt, dt_bias, a, b, x):
    dt = F.softplus(dt + dt_bias)
    return torch.exp(dt[..., None] * a), dt[..., None] * b[:, None] * x[..., None]
