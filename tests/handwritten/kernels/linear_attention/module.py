"""Linear attention by chunks: the state of the chunks before, and a triangle inside the chunk."""

import torch
import triton
import triton.language as tl


@triton.jit
def chunk_kernel(q_ptr, k_ptr, v_ptr, o_ptr, T, D: tl.constexpr, E: tl.constexpr, CHUNK: tl.constexpr):
    h = tl.program_id(0)
    d = tl.arange(0, D)
    e = tl.arange(0, E)
    c = tl.arange(0, CHUNK)
    state = tl.zeros((D, E), dtype=tl.float32)
    for t0 in range(0, T, CHUNK):
        t = t0 + c
        q = tl.load(q_ptr + (h * T + t)[:, None] * D + d[None, :], mask=t[:, None] < T, other=0.0)
        k = tl.load(k_ptr + (h * T + t)[:, None] * D + d[None, :], mask=t[:, None] < T, other=0.0)
        v = tl.load(v_ptr + (h * T + t)[:, None] * E + e[None, :], mask=t[:, None] < T, other=0.0)
        a = tl.dot(q, tl.trans(k), input_precision="ieee")
        a = tl.where(c[:, None] >= c[None, :], a, 0.0)
        o = tl.dot(a, v, input_precision="ieee") + tl.dot(q, state, input_precision="ieee")
        tl.store(o_ptr + (h * T + t)[:, None] * E + e[None, :], o, mask=t[:, None] < T)
        state += tl.dot(tl.trans(k), v, input_precision="ieee")


def linear_attention(q, k, v):
    H, T, D = q.shape
    E = v.shape[-1]
    o = torch.empty((H, T, E), device=q.device, dtype=q.dtype)
    chunk_kernel[(H,)](q, k, v, o, T, D=D, E=E, CHUNK=32)
    return o
