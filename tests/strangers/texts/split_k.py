"""A product split along its depth: partial products, then a kernel that adds them."""

import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(a_ptr, b_ptr, p_ptr, M, N, K, K_PER, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    pid_k = tl.program_id(2)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    end = min(K, (pid_k + 1) * K_PER)
    for k in range(pid_k * K_PER, end, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < end), other=0.0)
        b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < end) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    tl.store(p_ptr + pid_k * M * N + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def add_kernel(p_ptr, c_ptr, n, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for s in tl.static_range(SPLIT):
        acc += tl.load(p_ptr + s * n + offs, mask=offs < n, other=0.0)
    tl.store(c_ptr + offs, acc.to(tl.float16), mask=offs < n)


def f(a, b):
    M, K = a.shape
    N = b.shape[1]
    split = 3
    part = torch.empty((split, M, N), device=a.device, dtype=torch.float32)
    out = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 64), split)
    partial_kernel[grid](a, b, part, M, N, K, triton.cdiv(K, split), BM=16, BN=64, BK=32)
    add_kernel[(triton.cdiv(M * N, 256),)](part, out, M * N, SPLIT=split, BLOCK=256)
    return out
