"""Causal attention: whole blocks before the diagonal, the masked one on it."""

import torch
import triton
import triton.language as tl


@triton.jit
def _inner(
    acc, l_i, m_i, q, K, V, base, lo, hi, offs_m, scale, D: tl.constexpr, BN: tl.constexpr, DIAGONAL: tl.constexpr
):
    offs_d = tl.arange(0, D)
    for start_n in range(lo, hi, BN):
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + base + offs_n[None, :] * D + offs_d[:, None])
        qk = tl.dot(q, k) * scale
        if DIAGONAL:
            qk = tl.where(offs_m[:, None] >= offs_n[None, :], qk, -1.0e6)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_ij[:, None])
        alpha = tl.exp(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(V + base + offs_n[:, None] * D + offs_d[None, :])
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_ij
    return acc, l_i, m_i


@triton.jit
def causal_fwd(Q, K, V, O, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    start_m = tl.program_id(0)
    base = tl.program_id(1) * N * D
    offs_m = start_m * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + base + offs_m[:, None] * D + offs_d[None, :])
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K, V, base, 0, start_m * BM, offs_m, scale, D, BN, False)
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K, V, base, start_m * BM, (start_m + 1) * BM, offs_m, scale, D, BN, True)
    tl.store(O + base + offs_m[:, None] * D + offs_d[None, :], (acc / l_i[:, None]).to(O.dtype.element_ty))


def f(q, k, v):
    heads, n, d = q.shape
    o = torch.empty_like(q)
    causal_fwd[(n // 32, heads)](q, k, v, o, d**-0.5, n, D=d, BM=32, BN=16)
    return o
