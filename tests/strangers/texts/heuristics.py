"""Row sums; whether the row needs a mask is a heuristic."""

import torch
import triton
import triton.language as tl


@triton.heuristics({"BLOCK": lambda args: 256, "EVEN": lambda args: args["n"] % 256 == 0})
@triton.jit
def row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        if EVEN:
            acc += tl.load(x_ptr + row * n + offs)
        else:
            acc += tl.load(x_ptr + row * n + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(acc, 0))


def f(x):
    y = torch.empty((x.shape[0],), device=x.device, dtype=x.dtype)
    row_sum[(x.shape[0],)](x, y, x.shape[1])
    return y
