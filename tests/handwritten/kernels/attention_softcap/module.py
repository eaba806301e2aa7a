"""Causal attention with a soft cap; all keys of a query's block lie in one tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def softcap(s, CAP: tl.constexpr):
    return CAP * (2.0 * tl.sigmoid(2.0 * s / CAP) - 1.0)


@triton.jit
def capped_attention(Q, K, V, O, T, scale, CAP: tl.constexpr, D: tl.constexpr, BQ: tl.constexpr, BT: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * T * D
    i = tl.program_id(0) * BQ + tl.arange(0, BQ)
    j = tl.arange(0, BT)
    d = tl.arange(0, D)
    q = tl.load(Q + head + i[:, None] * D + d[None, :], mask=i[:, None] < T, other=0.0)
    k = tl.load(K + head + j[:, None] * D + d[None, :], mask=j[:, None] < T, other=0.0)
    v = tl.load(V + head + j[:, None] * D + d[None, :], mask=j[:, None] < T, other=0.0)
    s = softcap(tl.dot(q, tl.trans(k), input_precision="ieee") * scale, CAP)
    s = tl.where(j[None, :] <= i[:, None], s, float("-inf"))
    p = tl.exp(s - tl.max(s, axis=1, keep_dims=True))
    p /= tl.sum(p, axis=1, keep_dims=True)
    o = tl.dot(p, v, input_precision="ieee")
    tl.store(O + head + i[:, None] * D + d[None, :], o, mask=i[:, None] < T)


def attention_softcap(q, k, v):
    heads, T, D = q.shape
    out = torch.empty_like(q)
    BT = triton.next_power_of_2(T)
    capped_attention[(triton.cdiv(T, 32), heads)](q, k, v, out, T, 0.5, CAP=4.0, D=D, BQ=32, BT=BT)
    return out
