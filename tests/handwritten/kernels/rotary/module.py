"""Rotary embedding: a program takes one position of one head."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(
    x_ptr, cos_ptr, sin_ptr, out_ptr,
    stride_h, stride_s, cs_stride, half,
    BLOCK: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0)
    pos = tl.program_id(1)
    offs = tl.arange(0, BLOCK)
    mask = offs < half
    base = head * stride_h + pos * stride_s
    x1 = tl.load(x_ptr + base + offs, mask=mask, other=0.0)
    x2 = tl.load(x_ptr + base + half + offs, mask=mask, other=0.0)
    c = tl.load(cos_ptr + pos * cs_stride + offs, mask=mask, other=1.0)
    s = tl.load(sin_ptr + pos * cs_stride + offs, mask=mask, other=0.0)
    tl.store(out_ptr + base + offs, x1 * c - x2 * s, mask=mask)
    tl.store(out_ptr + base + half + offs, x2 * c + x1 * s, mask=mask)


def rotary(x, cos, sin):
    heads, seq, d = x.shape
    out = torch.empty_like(x)
    half = d // 2
    rope_kernel[(heads, seq)](
        x, cos, sin, out, x.stride(0), x.stride(1), cos.stride(0), half, BLOCK=triton.next_power_of_2(half)
    )
    return out
