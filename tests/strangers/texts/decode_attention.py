"""One query a head over shared keys: four queries' heads to a head of keys."""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(q_ptr, k_ptr, v_ptr, o_ptr, T, scale, GROUP: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):
    head = tl.program_id(0)
    kv = head // GROUP
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head * D + d).to(tl.float32)
    m = -float("inf")
    l = 0.0
    acc = tl.zeros((D,), dtype=tl.float32)
    for start in range(0, T, BLOCK):
        t = start + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + kv * T * D + t[:, None] * D + d[None, :], mask=t[:, None] < T, other=0.0).to(tl.float32)
        s = tl.sum(k * q[None, :], 1) * scale
        s = tl.where(t < T, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 0))
        p = tl.exp(s - m_new)
        alpha = tl.exp(m - m_new)
        v = tl.load(v_ptr + kv * T * D + t[:, None] * D + d[None, :], mask=t[:, None] < T, other=0.0).to(tl.float32)
        acc = acc * alpha + tl.sum(p[:, None] * v, 0)
        l = l * alpha + tl.sum(p, 0)
        m = m_new
    tl.store(o_ptr + head * D + d, (acc / l).to(o_ptr.dtype.element_ty))


def f(q, k, v):
    heads, d = q.shape
    o = torch.empty_like(q)
    decode_kernel[(heads,)](q, k, v, o, k.shape[1], d**-0.5, GROUP=heads // k.shape[0], D=d, BLOCK=32)
    return o
