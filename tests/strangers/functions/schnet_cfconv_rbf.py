import math

import torch
import torch.nn.functional as F
from torch import Tensor

import mirage

CUTOFF, N_RBF = 5.0, 50


@mirage.optimize(
    inputs=[
        ((1000, 128), "fp32"),
        ((1000, 3), "fp32"),
        ((8000,), "int64"),
        ((8000,), "int64"),
        ((128, 50), "fp32"),
        ((128,), "fp32"),
        ((128, 128), "fp32"),
    ]
)
def schnet_cfconv_rbf(x: Tensor, pos: Tensor, i: Tensor, j: Tensor, w1: Tensor, b1: Tensor, w2: Tensor) -> Tensor:
    r = (pos[i] - pos[j]).pow(2).sum(-1).add(1e-12).sqrt()
    mu = torch.linspace(0.0, CUTOFF, N_RBF, device=x.device)
    rbf = torch.exp(-10.0 * (r[:, None] - mu) ** 2)
    fcut = 0.5 * (torch.cos(r * math.pi / CUTOFF) + 1.0) * (r < CUTOFF).float()
    ssp = F.softplus(F.linear(rbf, w1, b1)) - math.log(2.0)
    W = F.linear(ssp, w2) * fcut[:, None]
    out = x.new_zeros(x.shape)
    return out.index_add(0, i, x[j] * W)
