"""Split-K product: partial sums in a buffer of float32, and a second kernel that adds them."""

import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(A, B, P, M, N, K, k_per_split, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_n = tl.program_id(0)
    split = tl.program_id(1)
    offs_m = tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k_start = split * k_per_split
    k_end = min(k_start + k_per_split, K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for k0 in range(k_start, k_end, BLOCK_K):
        offs_k = k0 + tl.arange(0, BLOCK_K)
        a = tl.load(
            A + offs_m[:, None] * K + offs_k[None, :], mask=(offs_m < M)[:, None] & (offs_k < k_end)[None, :], other=0.0
        )
        b = tl.load(
            B + offs_k[:, None] * N + offs_n[None, :], mask=(offs_k < k_end)[:, None] & (offs_n < N)[None, :], other=0.0
        )
        acc += tl.dot(a, b, input_precision="ieee")
    p_ptrs = P + split * M * N + offs_m[:, None] * N + offs_n[None, :]
    tl.store(p_ptrs, acc, mask=(offs_m < M)[:, None] & (offs_n < N)[None, :])


@triton.jit
def reduce_kernel(P, C, size, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < size
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for s in tl.static_range(SPLITS):
        acc += tl.load(P + s * size + offs, mask=mask, other=0.0)
    tl.store(C + offs, acc, mask=mask)


def matmul_split_k(a, b, splits=4):
    M, K = a.shape
    _, N = b.shape
    partial = torch.empty((splits, M, N), device=a.device, dtype=torch.float32)
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    k_per_split = triton.cdiv(K, splits)
    partial_kernel[(triton.cdiv(N, 32), splits)](
        a, b, partial, M, N, K, k_per_split, BLOCK_M=triton.next_power_of_2(M), BLOCK_N=32, BLOCK_K=64
    )
    reduce_kernel[(triton.cdiv(M * N, 256),)](partial, c, M * N, SPLITS=splits, BLOCK=256)
    return c
