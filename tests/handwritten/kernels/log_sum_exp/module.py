"""Log-sum-exp with a running maximum and sum in every lane, which are merged at the end."""

import torch
import triton
import triton.language as tl


@triton.jit
def lse_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    m = tl.full([BLOCK], -float("inf"), tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n_cols, BLOCK):
        col = start + lane
        x = tl.load(x_ptr + row * n_cols + col, mask=col < n_cols, other=-float("inf"))
        m_new = tl.maximum(m, x)
        s = s * tl.exp(m - m_new) + tl.exp(x - m_new)
        m = m_new
    top = tl.max(m, axis=0)
    total = tl.sum(s * tl.exp(m - top), axis=0)
    tl.store(out_ptr + row, top + tl.log(total))


def log_sum_exp(x):
    rows, cols = x.shape
    out = torch.empty((rows,), dtype=x.dtype, device=x.device)
    lse_kernel[(rows,)](x, out, cols, BLOCK=256)
    return out
