"""Attention forward with a running softmax in base two; the keys' tail is masked."""

import torch
import triton
import triton.language as tl


@triton.jit
def _attn_fwd(Q, K, V, O, sm_scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    base = head * N * D
    offs_m = start_m * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + base + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < N, other=0.0)
    m_i = tl.full([BM], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    for start_n in range(0, N, BN):
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + base + offs_n[None, :] * D + offs_d[:, None], mask=offs_n[None, :] < N, other=0.0)
        qk = tl.dot(q, k) * qk_scale
        qk = tl.where(offs_n[None, :] < N, qk, -float("inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + base + offs_n[:, None] * D + offs_d[None, :], mask=offs_n[:, None] < N, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(O + base + offs_m[:, None] * D + offs_d[None, :], acc.to(O.dtype.element_ty), mask=offs_m[:, None] < N)


def f(q, k, v):
    heads, n, d = q.shape
    o = torch.empty_like(q)
    _attn_fwd[(triton.cdiv(n, 32), heads)](q, k, v, o, d**-0.5, n, D=d, BM=32, BN=32, num_warps=4, num_stages=2)
    return o
