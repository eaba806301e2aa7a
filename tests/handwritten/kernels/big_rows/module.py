"""Affine map by rows; the row's offset is a 64-bit number."""

import torch
import triton
import triton.language as tl


@triton.jit
def affine_kernel(x_ptr, y_ptr, stride, n_cols, a, b, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask)
    tl.store(y_ptr + row * stride + cols, (x * a + b).to(x.dtype), mask=mask)


def big_rows(x):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    affine_kernel[(n_rows, triton.cdiv(n_cols, 1024))](x, y, x.stride(0), n_cols, 0.5, 1.0, BLOCK=1024)
    return y
