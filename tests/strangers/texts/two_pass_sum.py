"""The sum of squares of all elements: partial sums, then one program that adds them."""

import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(x_ptr, p_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(p_ptr + pid, tl.sum(x * x, axis=0))


@triton.jit
def final_kernel(p_ptr, y_ptr, parts, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    p = tl.load(p_ptr + offs, mask=offs < parts, other=0.0)
    tl.store(y_ptr, tl.sum(p, axis=0))


def f(x):
    n = x.numel()
    parts = triton.cdiv(n, 512)
    p = torch.empty((parts,), device=x.device, dtype=torch.float32)
    y = torch.empty((), device=x.device, dtype=torch.float32)
    partial_kernel[(parts,)](x, p, n, BLOCK=512)
    final_kernel[(1,)](p, y, parts, BLOCK=triton.next_power_of_2(parts))
    return y
