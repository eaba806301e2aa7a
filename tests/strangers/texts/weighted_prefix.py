"""Each row's exponentials over the sum of those before it, by a scan."""

import torch
import triton
import triton.language as tl


@triton.jit
def prefix_kernel(x_ptr, y_ptr, N: tl.constexpr, BM: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    i = tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + i[None, :])
    sums = tl.cumsum(tl.exp(x), axis=1)
    tl.store(y_ptr + rows[:, None] * N + i[None, :], tl.exp(x) / sums)


def f(x):
    y = torch.empty_like(x)
    prefix_kernel[(x.shape[0] // 16,)](x, y, N=x.shape[1], BM=16)
    return y
