"""Sinusoids of the time step, as in Stable Diffusion's network: 320 numbers a step."""

import math

import torch

import mirage

FEW_ROWS = True
INPUTS = {"t": ("int", 0, 1000)}


@mirage.optimize(inputs=[[((2,), "int64")], [((256,), "int64")]])
def time_embedding(t):
    freqs = torch.exp(-math.log(10000.0) * torch.arange(160, dtype=torch.float32, device=t.device) / 160)
    args = t[:, None].float() * freqs[None]
    return torch.cat((torch.cos(args), torch.sin(args)), dim=-1).half()
