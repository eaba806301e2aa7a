"""Sliding-window attention that visits only the blocks of keys which the window reaches."""

import torch
import triton
import triton.language as tl


@triton.jit
def window_attention(
    q_ptr, k_ptr, v_ptr, o_ptr, T, scale, WINDOW: tl.constexpr, D: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr
):
    qb = tl.program_id(0)
    head_offset = tl.program_id(1) * T * D
    rows = qb * BQ + tl.arange(0, BQ)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head_offset + rows[:, None] * D + d[None, :], mask=rows[:, None] < T, other=0.0)
    q *= scale
    first = tl.maximum(qb * BQ - WINDOW + 1, 0) // BK * BK
    last = tl.minimum(qb * BQ + BQ, T)
    m = tl.full((BQ,), -float("inf"), tl.float32)
    l = tl.zeros((BQ,), tl.float32)
    o = tl.zeros((BQ, D), tl.float32)
    for kb in range(first, last, BK):
        cols = kb + tl.arange(0, BK)
        kt = tl.load(k_ptr + head_offset + cols[None, :] * D + d[:, None], mask=cols[None, :] < T, other=0.0)
        s = tl.dot(q, kt, input_precision="ieee")
        gap = rows[:, None] - cols[None, :]
        keep = (gap >= 0) & (gap < WINDOW) & (cols[None, :] < T)
        s = tl.where(keep, s, -float("inf"))
        m_next = tl.maximum(m, tl.max(s, axis=1))
        # a row whose window begins behind this block has seen no key yet
        shift = tl.where(m_next == -float("inf"), 0.0, m_next)
        w = tl.exp(s - shift[:, None])
        a = tl.exp(m - shift)
        v = tl.load(v_ptr + head_offset + cols[:, None] * D + d[None, :], mask=cols[:, None] < T, other=0.0)
        o = o * a[:, None] + tl.dot(w, v, input_precision="ieee")
        l = l * a + tl.sum(w, axis=1)
        m = m_next
    tl.store(o_ptr + head_offset + rows[:, None] * D + d[None, :], o / l[:, None], mask=rows[:, None] < T)


def attention_window(q, k, v):
    H, T, D = q.shape
    o = torch.empty_like(q)
    window_attention[(triton.cdiv(T, 16), H)](q, k, v, o, T, D**-0.5, WINDOW=20, D=D, BQ=16, BK=16)
    return o
