"""The gated norm of Zamba2-7B, which normalizes by groups of the channels."""

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((2048, 7168), "bf16"), ((2048, 7168), "bf16"), ((7168,), "bf16")])
def grouped_gated_norm(x, gate, weight):
    h = x.float() * F.silu(gate.float())
    g = h.view(*h.shape[:-1], 2, -1)
    g = g * torch.rsqrt(g.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * g.view_as(h).to(x.dtype)
