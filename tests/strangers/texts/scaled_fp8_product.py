"""A product of fp8 with a scale for each row of either operand."""

import torch
import triton
import triton.language as tl


@triton.jit
def fp8_kernel(a_ptr, b_ptr, sa_ptr, sb_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
        b = tl.load(b_ptr + rn[None, :] * K + rk[:, None])
        acc = tl.dot(a, b, acc)
    sa = tl.load(sa_ptr + rm)
    sb = tl.load(sb_ptr + rn)
    acc = acc * sa[:, None] * sb[None, :]
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


def f(a, b, sa, sb):
    M, K = a.shape
    N = b.shape[0]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    fp8_kernel[(M // 16, N // 32)](a, b, sa, sb, c, N, K, BM=16, BN=32, BK=32)
    return c
