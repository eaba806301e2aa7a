"""The scale of each row for int8: its largest magnitude over 127."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, s_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + offs, mask=offs < N, other=0.0)
        best = tl.maximum(best, tl.abs(x))
    tl.store(s_ptr + row, tl.max(best, 0) / 127.0)


def f(x):
    s = torch.empty((x.shape[0],), device=x.device, dtype=x.dtype)
    scale_kernel[(x.shape[0],)](x, s, x.shape[1], BLOCK=128)
    return s
