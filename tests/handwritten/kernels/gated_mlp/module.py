"""Both products of a gated MLP in one loop, the gate in the epilogue."""

import torch
import triton
import triton.language as tl


@triton.jit
def gated_kernel(
    x_ptr, w1_ptr, w3_ptr, y_ptr, M, N, K,
    stride_xm, stride_wk, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_k[None, :]
    w_offs = offs_k[:, None] * stride_wk + offs_n[None, :]
    gate = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        k_left = K - k
        x = tl.load(x_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < k_left), other=0.0)
        w_mask = (offs_k[:, None] < k_left) & (offs_n[None, :] < N)
        w1 = tl.load(w1_ptr + w_offs, mask=w_mask, other=0.0)
        w3 = tl.load(w3_ptr + w_offs, mask=w_mask, other=0.0)
        gate += tl.dot(x, w1)
        up += tl.dot(x, w3)
        x_ptrs += BLOCK_K
        w_offs += BLOCK_K * stride_wk
    y = gate / (1.0 + tl.exp(-gate)) * up
    y_ptrs = y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :]
    tl.store(y_ptrs, y.to(tl.bfloat16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def gated_mlp(x, w1, w3):
    M, K = x.shape
    N = w1.shape[1]
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    gated_kernel[grid](
        x, w1, w3, y, M, N, K, x.stride(0), w1.stride(0), y.stride(0), BLOCK_M=16, BLOCK_N=32, BLOCK_K=64
    )
    return y
