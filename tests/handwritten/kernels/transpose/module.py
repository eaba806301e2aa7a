"""Transpose by tiles through tl.trans."""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(src, dst, M, N, BLOCK: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BLOCK + tl.arange(0, BLOCK)
    cols = pid_n * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(src + rows[:, None] * N + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < N))
    tl.store(dst + cols[:, None] * M + rows[None, :], tl.trans(tile), mask=(cols[:, None] < N) & (rows[None, :] < M))


def transpose(x):
    M, N = x.shape
    out = torch.empty((N, M), device=x.device, dtype=x.dtype)
    transpose_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, out, M, N, BLOCK=32)
    return out
