import torch
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((2048, 65), "fp32"), ((2048, 64, 3), "fp32"), ((2048, 65), "fp32"), ((1,), "fp32")])
def neus_sdf_render_weights(sdf: Tensor, rgb: Tensor, depth: Tensor, inv_s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    cdf = torch.sigmoid(sdf * inv_s.exp().clip(1e-6, 1e6))
    prev, nxt = cdf[:, :-1], cdf[:, 1:]
    alpha = ((prev - nxt + 1e-5) / (prev + 1e-5)).clip(0.0, 1.0)
    ones = torch.ones([alpha.shape[0], 1], device=alpha.device)
    trans = torch.cumprod(torch.cat([ones, 1.0 - alpha + 1e-7], -1), -1)[:, :-1]
    weights = alpha * trans
    mid = 0.5 * (depth[:, :-1] + depth[:, 1:])
    acc = weights.sum(dim=-1, keepdim=True)
    color = (weights[..., None] * rgb).sum(dim=1) + (1.0 - acc)
    return color, (weights * mid).sum(-1), weights
