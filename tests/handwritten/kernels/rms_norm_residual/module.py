"""Residual addition and RMS normalization of a row held in one block."""

import torch
import triton
import triton.language as tl


@triton.jit
def _add_rms_norm_kernel(
    x_ptr,
    res_ptr,
    w_ptr,
    y_ptr,
    new_res_ptr,
    x_row_stride,
    n_cols,
    eps,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(res_ptr + row * x_row_stride + cols, mask=mask, other=0.0).to(tl.float32)
    h = x + r
    tl.store(new_res_ptr + row * x_row_stride + cols, h.to(tl.bfloat16), mask=mask)
    ms = tl.sum(h * h, axis=0) / n_cols
    rstd = tl.rsqrt(ms + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    y = h * rstd * w
    tl.store(y_ptr + row * x_row_stride + cols, y.to(tl.bfloat16), mask=mask)


def rms_norm_residual(x, residual, weight):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    new_residual = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(n_cols)
    _add_rms_norm_kernel[(n_rows,)](
        x, residual, weight, y, new_residual, x.stride(0), n_cols, 1e-6, BLOCK=BLOCK, num_warps=8 if BLOCK > 2048 else 4
    )
    return y, new_residual
