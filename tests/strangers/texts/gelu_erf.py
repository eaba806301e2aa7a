"""GELU by the error function, element by element."""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n_elements, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = 0.5 * x * (1 + tl.math.erf(x * 0.7071067811865476))
    tl.store(y_ptr + offsets, y, mask=mask)


def f(x):
    y = torch.empty_like(x)
    n_elements = x.numel()
    gelu_kernel[(triton.cdiv(n_elements, 1024),)](x, y, n_elements, BLOCK=1024)
    return y
