"""A product with int8 weights that have a scale for each column."""

import torch
import triton
import triton.language as tl


@triton.jit
def w8_kernel(x_ptr, w_ptr, s_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=rm[:, None] < M, other=0.0)
        w = tl.load(w_ptr + rk[:, None] * N + rn[None, :])
        acc = tl.dot(x, w.to(x.dtype), acc)
    scale = tl.load(s_ptr + rn).to(tl.float32)
    acc = acc * scale[None, :]
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc.to(y_ptr.dtype.element_ty), mask=rm[:, None] < M)


def f(x, w, s):
    M, K = x.shape
    N = w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    w8_kernel[(triton.cdiv(M, 16), N // 32)](x, w, s, y, M, N, K, BM=16, BN=32, BK=32)
    return y
