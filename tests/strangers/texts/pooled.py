"""The mean of four neighbours in each row."""

import torch
import triton
import triton.language as tl


@triton.jit
def pool_kernel(x_ptr, y_ptr, N_OUT, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, 4)
    x = tl.load(x_ptr + row * N_OUT * 4 + o[:, None] * 4 + k[None, :], mask=o[:, None] < N_OUT, other=0.0)
    tl.store(y_ptr + row * N_OUT + o, tl.sum(x, 1) / 4, mask=o < N_OUT)


def f(x):
    rows, n = x.shape
    y = torch.empty((rows, n // 4), device=x.device, dtype=x.dtype)
    pool_kernel[(rows, triton.cdiv(n // 4, 64))](x, y, n // 4, BLOCK=64)
    return y
