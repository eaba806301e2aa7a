"""GeGLU over the flattened tensors, with the error function."""

import torch
import triton
import triton.language as tl

INV_SQRT_2 = tl.constexpr(0.7071067811865476)


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.math.erf(x * INV_SQRT_2))


@triton.jit
def geglu_kernel(gate_ptr, up_ptr, out_ptr, numel, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = idx < numel
    g = tl.load(gate_ptr + idx, mask=live)
    u = tl.load(up_ptr + idx, mask=live)
    tl.store(out_ptr + idx, gelu(g) * u, mask=live)


def geglu(gate, up):
    gate, up = gate.contiguous(), up.contiguous()
    out = torch.empty_like(gate)
    numel = gate.numel()
    geglu_kernel[(triton.cdiv(numel, 1024),)](gate, up, out, numel, BLOCK=1024)
    return out
