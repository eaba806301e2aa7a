"""The norm of LLaMA-3-8B written out, its mean of squares in float32."""

import torch

import mirage

FEW_ROWS = True


@mirage.optimize(inputs=[[((1, 4096), "bf16"), ((4096,), "bf16")], [((2048, 4096), "bf16"), ((4096,), "bf16")]])
def rms_norm_by_hand(x, weight):
    h = x.float()
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)
    return weight * h.to(x.dtype)
