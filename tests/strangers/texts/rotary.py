"""Rotary embedding of (positions, heads, width), a program for each position and head."""

import torch
import triton
import triton.language as tl


@triton.jit
def rotary_kernel(X, C, S, Y, HEADS, HALF: tl.constexpr):
    pid = tl.program_id(0)
    pos = pid // HEADS
    d = tl.arange(0, HALF)
    cos = tl.load(C + pos * HALF + d)
    sin = tl.load(S + pos * HALF + d)
    lo = tl.load(X + pid * 2 * HALF + d)
    hi = tl.load(X + pid * 2 * HALF + HALF + d)
    tl.store(Y + pid * 2 * HALF + d, lo * cos - hi * sin)
    tl.store(Y + pid * 2 * HALF + HALF + d, hi * cos + lo * sin)


def f(x, c, s):
    n, heads, width = x.shape
    y = torch.empty_like(x)
    rotary_kernel[(n * heads,)](x, c, s, y, heads, HALF=width // 2)
    return y
