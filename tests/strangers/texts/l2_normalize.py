"""Rows over the larger of their norm and 1e-12."""

import torch
import triton
import triton.language as tl


@triton.jit
def normalize_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + offs, mask=offs < N, other=0.0)
    norm = tl.sqrt(tl.sum(x * x, 0))
    tl.store(y_ptr + row * N + offs, x / tl.maximum(norm, 1e-12), mask=offs < N)


def f(x):
    y = torch.empty_like(x)
    normalize_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=128)
    return y
