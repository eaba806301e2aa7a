"""RMS norm of half rows, the row in one block."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_fwd(y_ptr, x_ptr, g_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    ms = tl.sum(x * x, axis=0) / n_cols
    y = x * tl.rsqrt(ms + eps) * g
    tl.store(y_ptr + row * n_cols + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def f(x, g):
    y = torch.empty_like(x)
    rms_norm_fwd[(x.shape[0],)](y, x, g, x.shape[1], 1e-6, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
