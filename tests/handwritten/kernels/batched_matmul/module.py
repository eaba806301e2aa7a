"""Batched matrix product with all strides as arguments."""

import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(
    A, B, O,
    M, N, K,
    stride_ab, stride_am, stride_ak,
    stride_bb, stride_bk, stride_bn,
    stride_ob, stride_om, stride_on,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    pid_b = tl.program_id(2)
    A += pid_b * stride_ab
    B += pid_b * stride_bb
    O += pid_b * stride_ob
    offs_m = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    offs_n = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    offs_k = tl.arange(0, TILE_K)
    a_ptrs = A + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = B + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    o = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    num_iters = tl.cdiv(K, TILE_K)
    for _ in range(num_iters):
        k_mask = offs_k < K
        a = tl.load(a_ptrs, mask=(offs_m < M)[:, None] & k_mask[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=k_mask[:, None] & (offs_n < N)[None, :], other=0.0)
        o += tl.dot(a, b)
        offs_k += TILE_K
        a_ptrs += TILE_K * stride_ak
        b_ptrs += TILE_K * stride_bk
    o_ptrs = O + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on
    tl.store(o_ptrs, o.to(tl.float16), mask=(offs_m < M)[:, None] & (offs_n < N)[None, :])


def batched_matmul(a, b):
    bt = b.transpose(1, 2)
    batch, M, K = a.shape
    _, _, N = bt.shape
    out = torch.empty((batch, M, N), dtype=a.dtype, device=a.device)
    grid = lambda meta: (triton.cdiv(M, meta["TILE_M"]), triton.cdiv(N, meta["TILE_N"]), batch)
    bmm_kernel[grid](
        a, bt, out, M, N, K,
        a.stride(0), a.stride(1), a.stride(2),
        bt.stride(0), bt.stride(1), bt.stride(2),
        out.stride(0), out.stride(1), out.stride(2),
        TILE_M=32, TILE_N=32, TILE_K=32,
    )  # fmt: skip
    return out
