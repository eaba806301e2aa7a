"""Causal attention in two stages: blocks left of the diagonal without a mask, then the diagonal with one."""

import torch
import triton
import triton.language as tl


@triton.jit
def _inner(
    acc,
    l_i,
    m_i,
    q,
    k_base,
    v_base,
    offs_m,
    offs_d,
    lo,
    hi,
    N_CTX,
    scale,
    D: tl.constexpr,
    BN: tl.constexpr,
    DIAGONAL: tl.constexpr,
):
    for start_n in range(lo, hi, BN):
        offs_n = start_n + tl.arange(0, BN)
        inside = offs_n < N_CTX
        k = tl.load(k_base + offs_n[:, None] * D + offs_d[None, :], mask=inside[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        if DIAGONAL:
            s = tl.where((offs_m[:, None] >= offs_n[None, :]) & inside[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        correction = tl.exp(m_i - m_new)
        l_i = l_i * correction + tl.sum(p, 1)
        v = tl.load(v_base + offs_n[:, None] * D + offs_d[None, :], mask=inside[:, None], other=0.0)
        acc = acc * correction[:, None] + tl.dot(p.to(tl.float16), v)
        m_i = m_new
    return acc, l_i, m_i


@triton.jit
def causal_kernel(Q, K, V, O, N_CTX, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.program_id(0)
    head = tl.program_id(1)
    offs_m = block * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, D)
    base = head * N_CTX * D
    q_mask = offs_m[:, None] < N_CTX
    q = tl.load(Q + base + offs_m[:, None] * D + offs_d[None, :], mask=q_mask, other=0.0)
    m_i = tl.full([BM], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    acc, l_i, m_i = _inner(
        acc, l_i, m_i, q, K + base, V + base, offs_m, offs_d, 0, block * BM, N_CTX, scale, D, BN, False
    )
    last = tl.minimum((block + 1) * BM, N_CTX)
    acc, l_i, m_i = _inner(
        acc, l_i, m_i, q, K + base, V + base, offs_m, offs_d, block * BM, last, N_CTX, scale, D, BN, True
    )
    out = acc / l_i[:, None]
    tl.store(O + base + offs_m[:, None] * D + offs_d[None, :], out.to(tl.float16), mask=q_mask)


def attention_causal(q, k, v):
    heads, n_ctx, d = q.shape
    out = torch.empty_like(q)
    causal_kernel[(triton.cdiv(n_ctx, 32), heads)](q, k, v, out, n_ctx, 1.0 / d**0.5, D=d, BM=32, BN=16)
    return out
