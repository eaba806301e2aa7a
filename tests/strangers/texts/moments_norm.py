"""Layer norm without weights, mean and variance of blocks combined by their counts."""

import torch
import triton
import triton.language as tl


@triton.jit
def welford_kernel(x_ptr, y_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    count = 0.0
    mean = 0.0
    m2 = 0.0
    for start in range(0, N, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < N
        x = tl.load(x_ptr + row * N + offs, mask=mask, other=0.0)
        n = tl.sum(mask.to(tl.float32), 0)
        mean_b = tl.sum(x, 0) / n
        c = tl.where(mask, x - mean_b, 0.0)
        delta = mean_b - mean
        total = count + n
        m2 += tl.sum(c * c, 0) + delta * delta * count * n / total
        mean += delta * n / total
        count = total
    rstd = tl.rsqrt(m2 / N + eps)
    for start in range(0, N, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + offs, mask=offs < N, other=0.0)
        tl.store(y_ptr + row * N + offs, (x - mean) * rstd, mask=offs < N)


def f(x):
    y = torch.empty_like(x)
    welford_kernel[(x.shape[0],)](x, y, x.shape[1], 1e-5, BLOCK=128)
    return y
