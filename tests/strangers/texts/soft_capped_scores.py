"""30 tanh(q k / 30) over columns, then a softmax: scores of one block."""

import torch
import triton
import triton.language as tl


@triton.jit
def capped_kernel(q_ptr, k_ptr, o_ptr, N, scale, D: tl.constexpr, BM: tl.constexpr, BLOCK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rm[:, None] * D + d[None, :])
    k = tl.load(k_ptr + rn[None, :] * D + d[:, None], mask=rn[None, :] < N, other=0.0)
    s = tl.dot(q, k) * scale / 30.0
    s = 30.0 * (2.0 * tl.sigmoid(2.0 * s) - 1.0)
    s = tl.where(rn[None, :] < N, s, -float("inf"))
    p = tl.exp(s - tl.max(s, 1)[:, None])
    p = p / tl.sum(p, 1)[:, None]
    tl.store(o_ptr + rm[:, None] * N + rn[None, :], p.to(tl.float16), mask=rn[None, :] < N)


def f(q, k):
    o = torch.empty((q.shape[0], k.shape[0]), device=q.device, dtype=q.dtype)
    capped_kernel[(q.shape[0] // 16,)](q, k, o, k.shape[0], 0.125, D=q.shape[1], BM=16, BLOCK=64)
    return o
