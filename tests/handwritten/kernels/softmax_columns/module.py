"""Softmax along the columns: a program holds a block of them whole."""

import torch
import triton
import triton.language as tl


@triton.jit
def col_softmax_kernel(x_ptr, y_ptr, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.arange(0, BLOCK_M)[:, None]
    n = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    offs = m * stride_m + n * stride_n
    x = tl.load(x_ptr + offs, mask=(m < M) & (n < N), other=-float("inf"))
    x = x - tl.max(x, axis=0, keep_dims=True)
    e = tl.where(m < M, tl.exp(x), 0.0)
    tl.store(y_ptr + offs, e / tl.sum(e, axis=0, keep_dims=True), mask=(m < M) & (n < N))


def softmax_columns(x):
    M, N = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(N, 16),)
    col_softmax_kernel[grid](x, y, M, N, x.stride(0), x.stride(1), BLOCK_M=triton.next_power_of_2(M), BLOCK_N=16)
    return y
