"""Low-rank update in two kernels: the narrow product in float32, then the wide one with its epilogue."""

import torch
import triton
import triton.language as tl


@triton.jit
def down_kernel(X, A, H, M, K, R: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rr = tl.arange(0, R)
    acc = tl.zeros((BM, R), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(X + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        a = tl.load(A + rk[:, None] * R + rr[None, :], mask=rk[:, None] < K, other=0.0)
        acc += tl.dot(x, a)
    tl.store(H + rm[:, None] * R + rr[None, :], acc, mask=rm[:, None] < M)


@triton.jit
def up_kernel(H, B, BASE, Y, M, N, alpha, R: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rr = tl.arange(0, R)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    h = tl.load(H + rm[:, None] * R + rr[None, :], mask=rm[:, None] < M, other=0.0)
    b = tl.load(B + rr[:, None] * N + rn[None, :], mask=rn[None, :] < N, other=0.0).to(tl.float32)
    base = tl.load(BASE + rm[:, None] * N + rn[None, :], mask=mask, other=0.0).to(tl.float32)
    y = base + alpha * tl.dot(h, b, input_precision="ieee")
    tl.store(Y + rm[:, None] * N + rn[None, :], y.to(tl.float16), mask=mask)


def low_rank(x, down, up, base):
    M, K = x.shape
    R, N = up.shape
    h = torch.empty((M, R), device=x.device, dtype=torch.float32)
    y = torch.empty((M, N), device=x.device, dtype=torch.float16)
    down_kernel[(triton.cdiv(M, 16),)](x, down, h, M, K, R=R, BM=16, BK=64)
    up_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64))](h, up, base, y, M, N, 0.5, R=R, BM=32, BN=64)
    return y
