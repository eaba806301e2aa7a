"""Sums of squares by atomics, tuned: the output is set back to zero before every trial."""

import torch
import triton
import triton.language as tl


def configurations():
    return [triton.Config({"BLOCK": size}, num_warps=warps) for size in (512, 1024) for warps in (4, 8)]


@triton.autotune(configs=configurations(), key=["n_cols"], reset_to_zero=["out_ptr"])
@triton.jit
def sum_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + col, mask=col < n_cols, other=0.0)
    tl.atomic_add(out_ptr + row, tl.sum(x * x))


def row_sum_tuned(x):
    rows, cols = x.shape
    out = torch.zeros(rows, device=x.device, dtype=torch.float32)
    sum_kernel[lambda meta: (rows, triton.cdiv(cols, meta["BLOCK"]))](x, out, cols)
    return out
