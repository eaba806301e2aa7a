import torch
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((2048, 4096), "bf16"), ((2048, 4096), "bf16"), ((4096,), "bf16")])
def fused_add_rms_norm_inplace(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    residual.add_(x)
    h = residual.float()
    var = h.pow(2).mean(dim=-1, keepdim=True)
    h = h * torch.rsqrt(var + 1e-6)
    x.copy_(h.to(x.dtype) * weight)
    return x, residual
