"""Rotary embedding of pairs: one program a position, all heads in a tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_pairs(X, COS, SIN, OUT, n_heads, HEADS: tl.constexpr, PAIRS: tl.constexpr):
    t = tl.program_id(0)
    h = tl.arange(0, HEADS)[:, None]
    p = tl.arange(0, PAIRS)[None, :]
    valid = h < n_heads
    even = t * n_heads * PAIRS * 2 + h * PAIRS * 2 + 2 * p
    a = tl.load(X + even, mask=valid, other=0.0).to(tl.float32)
    b = tl.load(X + even + 1, mask=valid, other=0.0).to(tl.float32)
    c = tl.load(COS + t * PAIRS + p)
    s = tl.load(SIN + t * PAIRS + p)
    tl.store(OUT + even, (a * c - b * s).to(tl.float16), mask=valid)
    tl.store(OUT + even + 1, (a * s + b * c).to(tl.float16), mask=valid)


def rotary_interleaved(x, cos, sin):
    seq, heads, d = x.shape
    out = torch.empty_like(x)
    rope_pairs[(seq,)](x, cos, sin, out, heads, HEADS=triton.next_power_of_2(heads), PAIRS=d // 2)
    return out
