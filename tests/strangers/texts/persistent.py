"""Leaky ReLU by at most eight programs that go from tile to tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def persistent_kernel(x_ptr, y_ptr, n, slope, BLOCK: tl.constexpr):
    tiles = tl.cdiv(n, BLOCK)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        offs = tile * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        tl.store(y_ptr + offs, tl.where(x >= 0, x, x * slope), mask=offs < n)


def f(x):
    y = torch.empty_like(x)
    n = x.numel()
    grid = (min(triton.cdiv(n, 256), 8),)
    persistent_kernel[grid](x, y, n, 0.01, BLOCK=256)
    return y
