"""Depthwise causal convolution: a program takes one channel of one sequence."""

import torch
import triton
import triton.language as tl


@triton.jit
def causal_conv_kernel(x_ptr, w_ptr, b_ptr, y_ptr, C, T, WIDTH: tl.constexpr, BLOCK_T: tl.constexpr):
    b = tl.program_id(0)
    c = tl.program_id(1)
    t = tl.program_id(2) * BLOCK_T + tl.arange(0, BLOCK_T)
    base = (b * C + c) * T
    acc = tl.zeros((BLOCK_T,), dtype=tl.float32) + tl.load(b_ptr + c)
    for k in tl.static_range(WIDTH):
        src = t + k - (WIDTH - 1)
        x = tl.load(x_ptr + base + src, mask=(src >= 0) & (src < T), other=0.0)
        acc += x * tl.load(w_ptr + c * WIDTH + k)
    tl.store(y_ptr + base + t, acc * tl.sigmoid(acc), mask=t < T)


def causal_conv(x, weight, bias):
    B, C, T = x.shape
    y = torch.empty_like(x)
    causal_conv_kernel[(B, C, triton.cdiv(T, 64))](x, weight, bias, y, C, T, WIDTH=weight.shape[-1], BLOCK_T=64)
    return y
