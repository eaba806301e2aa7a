"""Rows times numbers, with hints for the compiler and for the caches."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, s_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = tl.multiple_of(tl.program_id(1) * BLOCK, BLOCK)
    cols = tl.max_contiguous(start + tl.arange(0, BLOCK), BLOCK)
    s = tl.load(s_ptr + row, eviction_policy="evict_last")
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, eviction_policy="evict_first")
    tl.store(y_ptr + row * n_cols + cols, x * s, mask=cols < n_cols, cache_modifier=".cs")


def hinted_scale(x, s):
    rows, cols = x.shape
    y = torch.empty_like(x)
    scale_kernel[(rows, triton.cdiv(cols, 256))](x, s, y, cols, BLOCK=256)
    return y
