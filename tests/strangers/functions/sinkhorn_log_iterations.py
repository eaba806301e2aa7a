import math

import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((8, 256, 64), "fp32"), ((8, 256, 64), "fp32")])
def sinkhorn_log_iterations(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    eps = 0.1
    cost = 1.0 - F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).transpose(-1, -2)
    log_mu = -math.log(cost.size(-1))
    f = torch.zeros_like(cost[:, :, 0])
    g = torch.zeros_like(cost[:, 0, :])
    for _ in range(5):
        f = eps * (log_mu - torch.logsumexp((g[:, None, :] - cost) / eps, dim=2))
        g = eps * (log_mu - torch.logsumexp((f[:, :, None] - cost) / eps, dim=1))
    plan = torch.exp((f.unsqueeze(2) + g.unsqueeze(1) - cost) / eps)
    return plan, (plan * cost).sum(dim=(1, 2))
