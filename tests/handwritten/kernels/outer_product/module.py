"""Decay and rank-one update on tiles."""

import torch
import triton
import triton.language as tl


@triton.jit
def ger_kernel(M, U, V, OUT, rows, cols, decay, BR: tl.constexpr, BC: tl.constexpr):
    pid = tl.program_id(0)
    blocks_per_row = tl.cdiv(cols, BC)
    pr = pid // blocks_per_row
    pc = pid % blocks_per_row
    r = pr * BR + tl.arange(0, BR)
    c = pc * BC + tl.arange(0, BC)
    u = tl.load(U + r, mask=r < rows, other=0.0)
    v = tl.load(V + c, mask=c < cols, other=0.0)
    idx = r[:, None] * cols + c[None, :]
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    m = tl.load(M + idx, mask=mask, other=0.0)
    tl.store(OUT + idx, m * decay + u[:, None] * v[None, :], mask=mask)


def outer_product(m, u, v):
    rows, cols = m.shape
    out = torch.empty_like(m)
    grid = lambda meta: (triton.cdiv(rows, meta["BR"]) * triton.cdiv(cols, meta["BC"]),)
    ger_kernel[grid](m, u, v, out, rows, cols, 0.9, BR=32, BC=32)
    return out
