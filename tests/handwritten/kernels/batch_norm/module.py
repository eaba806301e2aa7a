"""Batch normalization at inference: scale and shift of each channel are folded first."""

import torch
import triton
import triton.language as tl


@triton.jit
def bn_relu(x_ptr, mean_ptr, var_ptr, w_ptr, b_ptr, y_ptr, numel, C, HW, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < numel
    c = i // HW % C
    mu = tl.load(mean_ptr + c, mask=mask, other=0.0)
    var = tl.load(var_ptr + c, mask=mask, other=1.0)
    w = tl.load(w_ptr + c, mask=mask, other=0.0)
    b = tl.load(b_ptr + c, mask=mask, other=0.0)
    scale = w / tl.sqrt(var + eps)
    shift = b - mu * scale
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    tl.store(y_ptr + i, tl.maximum(x * scale + shift, 0.0), mask=mask)


def batch_norm(x, mean, var, weight, bias):
    _, C, HW = x.shape
    y = torch.empty_like(x)
    n = x.numel()
    bn_relu[(triton.cdiv(n, 256),)](x, mean, var, weight, bias, y, n, C, HW, 1e-3, BLOCK=256)
    return y
