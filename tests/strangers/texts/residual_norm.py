"""x + r, and its RMS norm: two results."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_norm(x_ptr, r_ptr, g_ptr, h_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    mask = d < D
    x = tl.load(x_ptr + row * D + d, mask=mask, other=0.0)
    r = tl.load(r_ptr + row * D + d, mask=mask, other=0.0)
    h = x + r
    tl.store(h_ptr + row * D + d, h, mask=mask)
    scale = tl.rsqrt(tl.sum(h * h, 0) / D + eps)
    g = tl.load(g_ptr + d, mask=mask, other=0.0)
    tl.store(y_ptr + row * D + d, h * scale * g, mask=mask)


def f(x, r, g):
    h, y = torch.empty_like(x), torch.empty_like(x)
    add_norm[(x.shape[0],)](x, r, g, h, y, x.shape[1], 1e-6, BLOCK=triton.next_power_of_2(x.shape[1]))
    return h, y
