"""Column means: a program owns a block of columns and walks down the rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def column_mean_kernel(x_ptr, mean_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    cols = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    col_mask = cols < N
    total = tl.zeros([BLOCK_N], dtype=tl.float32)
    row = tl.arange(0, BLOCK_M)
    x_ptrs = x_ptr + row[:, None] * N + cols[None, :]
    for m in range(tl.cdiv(M, BLOCK_M)):
        tile = tl.load(x_ptrs, mask=(row[:, None] < M - m * BLOCK_M) & col_mask[None, :], other=0.0)
        total += tl.sum(tile, axis=0)
        x_ptrs += BLOCK_M * N
    tl.store(mean_ptr + cols, total / M, mask=col_mask)


def column_mean(x):
    M, N = x.shape
    mean = torch.empty((N,), device=x.device, dtype=torch.float32)
    column_mean_kernel[(triton.cdiv(N, 32),)](x, mean, M, N, BLOCK_M=64, BLOCK_N=32)
    return mean
