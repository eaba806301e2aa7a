"""Mean over valid tokens: the loop ends at the sequence's length."""

import torch
import triton
import triton.language as tl


@triton.jit
def mean_pool_kernel(x_ptr, len_ptr, out_ptr, T, D: tl.constexpr, BLOCK_T: tl.constexpr):
    b = tl.program_id(0)
    length = tl.load(len_ptr + b)
    n = tl.minimum(length, T)
    d = tl.arange(0, D)
    acc = tl.zeros((D,), dtype=tl.float32)
    for t0 in range(0, n, BLOCK_T):
        t = t0 + tl.arange(0, BLOCK_T)
        x = tl.load(x_ptr + (b * T + t)[:, None] * D + d[None, :], mask=t[:, None] < n, other=0.0)
        acc += tl.sum(x.to(tl.float32), axis=0)
    tl.store(out_ptr + b * D + d, acc / length)


def mean_pooling(x, lengths):
    B, T, D = x.shape
    out = torch.empty((B, D), device=x.device, dtype=torch.float32)
    mean_pool_kernel[(B,)](x, lengths, out, T, D=D, BLOCK_T=16)
    return out
