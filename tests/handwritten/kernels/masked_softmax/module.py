"""Scaled and masked softmax: a program takes one row of one head; the mask is shared by the heads."""

import torch
import triton
import triton.language as tl


@triton.jit
def masked_softmax_kernel(S, B, O, scale, L, stride_h, stride_q, stride_b, BLOCK: tl.constexpr):
    q = tl.program_id(0)
    h = tl.program_id(1)
    k = tl.arange(0, BLOCK)
    ok = k < L
    s = tl.load(S + h * stride_h + q * stride_q + k, mask=ok, other=0.0)
    b = tl.load(B + q * stride_b + k, mask=ok, other=float("-inf"))
    z = s * scale + b
    z -= tl.max(z, 0)
    e = tl.exp(z)
    tl.store(O + h * stride_h + q * stride_q + k, e / tl.sum(e, 0), mask=ok)


def masked_softmax(scores, bias):
    H, Q, L = scores.shape
    out = torch.empty_like(scores)
    masked_softmax_kernel[(Q, H)](
        scores, bias, out, 0.25, L, scores.stride(0), scores.stride(1), bias.stride(0), BLOCK=triton.next_power_of_2(L)
    )
    return out
