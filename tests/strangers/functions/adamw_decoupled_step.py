import torch
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[
        ((2048, 2048), "fp32"),
        ((2048, 2048), "bf16"),
        ((2048, 2048), "fp32"),
        ((2048, 2048), "fp32"),
        ((1,), "int64"),
    ]
)
def adamw_decoupled_step(p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    lr, b1, b2, eps, wd = 3e-4, 0.9, 0.95, 1e-8, 0.1
    g = grad.float()
    g = g * torch.clamp(1.0 / (g.norm() + 1e-6), max=1.0)
    m = torch.lerp(m, g, 1 - b1)
    v = v * b2 + g * g * (1 - b2)
    t = (step + 1).float()
    m_hat = m / (1 - b1**t)
    v_hat = v / (1 - b2**t)
    p = p * (1 - lr * wd) - lr * m_hat / (v_hat.sqrt() + eps)
    return p, m, v
