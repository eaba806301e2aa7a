import torch
from torch import Tensor

import mirage

ATOMS, V_MIN, V_MAX = 51, -10.0, 10.0


@mirage.optimize(inputs=[((512, 6, 51), "fp32"), ((512,), "fp32"), ((512,), "bool")])
def c51_distribution_projection(next_logits: Tensor, reward: Tensor, done: Tensor) -> Tensor:
    support = torch.linspace(V_MIN, V_MAX, ATOMS, device=reward.device)
    dist = next_logits.softmax(dim=2)
    best = (dist * support).sum(2).argmax(1)
    p = dist[torch.arange(dist.size(0), device=reward.device), best]
    tz = reward[:, None] + (~done)[:, None] * 0.99 * support[None, :]
    b = (tz.clamp(V_MIN, V_MAX) - V_MIN) / ((V_MAX - V_MIN) / (ATOMS - 1))
    lo = b.floor().long().clamp(0, ATOMS - 1)
    hi = (lo + 1).clamp(max=ATOMS - 1)
    frac = b - lo
    m = torch.zeros_like(p)
    m.scatter_add_(1, lo, p * (1 - frac))
    m.scatter_add_(1, hi, p * frac)
    return m
