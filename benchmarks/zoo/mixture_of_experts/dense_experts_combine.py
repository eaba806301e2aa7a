"""Every expert's answer for every token, summed with the router's weights, in a small model of eight experts."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1), "gates": ("probability",)}


@mirage.optimize(inputs=[((512, 768), "bf16"), ((8, 768, 1536), "bf16"), ((8, 1536, 768), "bf16"), ((512, 8), "bf16")])
def dense_experts_combine(x, w1, w2, gates):
    h = F.silu(torch.einsum("td,edf->etf", x, w1))
    return torch.einsum("te,etd->td", gates, torch.einsum("etf,efd->etd", h, w2))
