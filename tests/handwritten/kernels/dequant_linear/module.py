"""8-bit linear layer: the weight is widened in the loop, the scale applied to the sum."""

import torch
import triton
import triton.language as tl


@triton.jit
def w8_kernel(x_ptr, w_ptr, s_ptr, y_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_n = tl.program_id(0)
    pid_m = tl.program_id(1)
    m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k0 in range(0, K, BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=(m < M)[:, None], other=0.0)
        w = tl.load(w_ptr + n[None, :] * K + k[:, None], mask=(n < N)[None, :], other=0)
        acc = tl.dot(x, w.to(tl.float16), acc)
    scale = tl.load(s_ptr + n, mask=n < N, other=0.0)
    acc *= scale[None, :]
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m < M)[:, None] & (n < N)[None, :])


def dequant_linear(x, weight, scale):
    M, K = x.shape
    N = weight.shape[0]
    assert K % 64 == 0
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    w8_kernel[(triton.cdiv(N, 64), triton.cdiv(M, 16))](
        x, weight, scale, y, M, N, K, BLOCK_M=16, BLOCK_N=64, BLOCK_K=64
    )
    return y
