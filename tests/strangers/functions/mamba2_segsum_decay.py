import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


def segsum(x):
    T = x.size(-1)
    x = x[..., None].expand(*x.shape, T)
    below = torch.tril(torch.ones(T, T, device=x.device, dtype=torch.bool), diagonal=-1)
    s = torch.cumsum(x.masked_fill(~below, 0), dim=-2)
    return s.masked_fill(~torch.tril(torch.ones(T, T, device=x.device, dtype=torch.bool)), -torch.inf)


@mirage.optimize(inputs=[((2, 64, 8, 64), "fp32"), ((2, 64, 8), "fp32"), ((2, 64, 32), "fp32"), ((2, 64, 32), "fp32")])
def mamba2_segsum_decay(X: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    L = torch.exp(segsum(-F.softplus(A).permute(0, 2, 1)))
    return torch.einsum("bln,bsn,bhls,bshp->blhp", C, B, L, X)
