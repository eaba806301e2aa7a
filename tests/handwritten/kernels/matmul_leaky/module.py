"""Linear layer with its epilogue in the same kernel; the activation is a helper."""

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def linear_kernel(
    X, W, B, Y,
    M, N, K,
    sxm, sxk, swn, swk, sym, syn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    ACTIVATION: tl.constexpr, EVEN_K: tl.constexpr,
):  # fmt: skip
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    x_ptrs = X + rm[:, None] * sxm + rk[None, :] * sxk
    w_ptrs = W + rk[:, None] * swk + rn[None, :] * swn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        if EVEN_K:
            x = tl.load(x_ptrs, mask=rm[:, None] < M, other=0.0)
            w = tl.load(w_ptrs, mask=rn[None, :] < N, other=0.0)
        else:
            x = tl.load(x_ptrs, mask=(rm[:, None] < M) & (rk[None, :] + k < K), other=0.0)
            w = tl.load(w_ptrs, mask=(rn[None, :] < N) & (rk[:, None] + k < K), other=0.0)
        acc += tl.dot(x, w)
        x_ptrs += BLOCK_K * sxk
        w_ptrs += BLOCK_K * swk
    bias = tl.load(B + rn, mask=rn < N, other=0.0).to(tl.float32)
    acc = acc + bias[None, :]
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(Y + rm[:, None] * sym + rn[None, :] * syn, acc.to(tl.bfloat16), mask=mask)


def matmul_leaky(x, weight, bias):
    M, K = x.shape
    N = weight.shape[0]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    BLOCK_M, BLOCK_N, BLOCK_K = 32, 32, 64
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    linear_kernel[grid](
        x, weight, bias, y, M, N, K,
        x.stride(0), x.stride(1), weight.stride(0), weight.stride(1), y.stride(0), y.stride(1),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
        ACTIVATION="leaky_relu", EVEN_K=K % BLOCK_K == 0, num_warps=4,
    )  # fmt: skip
    return y
