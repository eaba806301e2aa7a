"""SwiGLU on a two-dimensional grid: rows by blocks of columns."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def swiglu_fwd(x_ptr, out_ptr, stride_x, stride_o, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    block = tl.program_id(1)
    cols = block * BLOCK + tl.arange(0, BLOCK)
    mask = cols < d
    gate = tl.load(x_ptr + row * stride_x + cols, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + row * stride_x + d + cols, mask=mask, other=0.0).to(tl.float32)
    out = silu(gate) * up
    tl.store(out_ptr + row * stride_o + cols, out.to(out_ptr.dtype.element_ty), mask=mask)


def swiglu(x):
    rows, width = x.shape
    d = width // 2
    out = torch.empty((rows, d), dtype=x.dtype, device=x.device)
    swiglu_fwd[(rows, triton.cdiv(d, 512))](x, out, x.stride(0), out.stride(0), d, BLOCK=512)
    return out
