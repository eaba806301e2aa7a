"""Triton modules in the style of public tutorials, each with the function that it computes; tests edit them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Written:
    """A decorated function and a module without a µGraph, as texts."""

    function: str
    module: str


ADD = Written(
    """import torch
import mirage

@mirage.optimize(inputs=[((98432,), "fp32"), ((98432,), "fp32")])
def add(x, y):
    return x + y
""",
    r"""import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()

@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    output = x + y
    tl.store(output_ptr + offsets, output, mask=mask)

def add(x: torch.Tensor, y: torch.Tensor):
    output = torch.empty_like(x)
    assert x.device == y.device and x.is_cuda
    n_elements = output.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta['BLOCK_SIZE']), )
    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
    return output

if __name__ == "__main__":
    print(add(torch.rand(3), torch.rand(3)))
""",
)

MATMUL = Written(
    """import torch
import mirage

@mirage.optimize(inputs=[((200, 136), "fp16"), ((136, 328), "fp16")])
def matmul(a, b):
    return torch.nn.functional.leaky_relu(a @ b, 0.01)
""",
    r"""import torch
import triton
import triton.language as tl

@triton.autotune(configs=[
    triton.Config({'BLOCK_SIZE_M': 64, 'BLOCK_SIZE_N': 64, 'BLOCK_SIZE_K': 32, 'GROUP_SIZE_M': 8}, num_stages=3, num_warps=8),
    triton.Config({'BLOCK_SIZE_M': 32, 'BLOCK_SIZE_N': 128, 'BLOCK_SIZE_K': 32, 'GROUP_SIZE_M': 2}, num_stages=3, num_warps=8),
    ], key=['M', 'N', 'K'])
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
        stride_cm, stride_cn,
        BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr, GROUP_SIZE_M: tl.constexpr,
        ACTIVATION: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    tl.assume(pid_m >= 0)
    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    c = accumulator.to(tl.float16)
    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, c, mask=c_mask)

@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)

def matmul(a, b):
    assert a.shape[1] == b.shape[0], "Incompatible dimensions"
    assert a.is_contiguous(), "Matrix A must be contiguous"
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    grid = lambda META: (triton.cdiv(M, META['BLOCK_SIZE_M']) * triton.cdiv(N, META['BLOCK_SIZE_N']), )
    matmul_kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
                        ACTIVATION="leaky_relu")
    return c
""",
)

ATTENTION = Written(
    """import torch
import mirage

@mirage.optimize(inputs=[((2, 4, 160, 64), "fp16"), ((2, 4, 160, 64), "fp16"), ((2, 4, 160, 64), "fp16")])
def attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
""",
    r"""import torch
import triton
import triton.language as tl

@triton.jit
def _fwd(Q, K, V, Out, sm_scale, stride_z, stride_h, stride_m, stride_d, H, N_CTX,
         BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr):
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = off_hz // H
    off_h = off_hz % H
    base = off_z.to(tl.int64) * stride_z + off_h.to(tl.int64) * stride_h
    q_ptr = tl.make_block_ptr(Q + base, shape=(N_CTX, D), strides=(stride_m, stride_d),
                              offsets=(start_m * BLOCK_M, 0), block_shape=(BLOCK_M, D), order=(1, 0))
    k_ptr = tl.make_block_ptr(K + base, shape=(D, N_CTX), strides=(stride_d, stride_m),
                              offsets=(0, 0), block_shape=(D, BLOCK_N), order=(0, 1))
    v_ptr = tl.make_block_ptr(V + base, shape=(N_CTX, D), strides=(stride_m, stride_d),
                              offsets=(0, 0), block_shape=(BLOCK_N, D), order=(1, 0))
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    q = tl.load(q_ptr, boundary_check=(0,), padding_option="zero")
    hi = tl.minimum((start_m + 1) * BLOCK_M, N_CTX)
    for start_n in range(0, hi, BLOCK_N):
        k = tl.load(k_ptr, boundary_check=(1,), padding_option="zero")
        qk = tl.dot(q, k) * qk_scale
        keep = (offs_m[:, None] >= (start_n + offs_n)[None, :]) & ((start_n + offs_n)[None, :] < N_CTX)
        qk = tl.where(keep, qk, -1.0e6)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        alpha = tl.math.exp2(m_i - m_new)
        p = tl.math.exp2(qk - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr, boundary_check=(0,), padding_option="zero")
        acc = acc * alpha[:, None]
        acc += tl.dot(p.to(V.dtype.element_ty), v)
        m_i = m_new
        k_ptr = tl.advance(k_ptr, (0, BLOCK_N))
        v_ptr = tl.advance(v_ptr, (BLOCK_N, 0))
    acc = acc / l_i[:, None]
    o_ptr = tl.make_block_ptr(Out + base, shape=(N_CTX, D), strides=(stride_m, stride_d),
                              offsets=(start_m * BLOCK_M, 0), block_shape=(BLOCK_M, D), order=(1, 0))
    tl.store(o_ptr, acc.to(Out.dtype.element_ty), boundary_check=(0,))

def attention(q, k, v):
    o = torch.empty_like(q)
    Z, H, N, D = q.shape
    grid = (triton.cdiv(N, 64), Z * H)
    _fwd[grid](q, k, v, o, D ** -0.5, q.stride(0), q.stride(1), q.stride(2), q.stride(3), H, N,
               BLOCK_M=64, BLOCK_N=32, D=D, num_warps=4)
    return o
""",
)

LAYER_NORM = Written(
    """import torch
import torch.nn.functional as F
import mirage

@mirage.optimize(inputs=[((151, 1000), "fp32"), ((1000,), "fp32"), ((1000,), "fp32")])
def layer_norm(x, weight, bias):
    return F.layer_norm(x, (1000,), weight, bias, 1e-5)
""",
    r"""import torch
import triton
import triton.language as tl

@triton.jit
def _ln(X, Y, W, B, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    mean = 0
    _mean = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        a = tl.load(X + cols, mask=cols < N, other=0.).to(tl.float32)
        _mean += a
    mean = tl.sum(_mean, axis=0) / N
    _var = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.)
        _var += x * x
    var = tl.sum(_var, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.).to(tl.float32)
        y = (x - mean) * rstd * w + b
        tl.store(Y + cols, y, mask=mask)

def layer_norm(x, weight, bias):
    y = torch.empty_like(x)
    x_arg = x.reshape(-1, x.shape[-1])
    M, N = x_arg.shape
    _ln[(M,)](x_arg, y, weight, bias, x_arg.stride(0), N, 1e-5, BLOCK_SIZE=256)
    return y
""",
)

# Not right: it has many of the language's functions, and its values are compared with those of Triton's interpreter.
LOOKUP = Written(
    """import mirage

@mirage.optimize(inputs=[((70,), "int64"), ((300, 40), "fp32")])
def lookup(ids, table):
    return 2.0 * table[ids]
""",
    r"""import torch
import triton
import triton.language as tl

@triton.jit
def lookup_kernel(ids_ptr, table_ptr, out_ptr, rows, dim, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    row = tl.load(ids_ptr + i)
    row = tl.where(row < 0, row + rows, row)
    d = tl.arange(0, BLOCK)
    value = tl.load(table_ptr + row * dim + d, mask=d < dim)
    tl.store(out_ptr + i * dim + d, 2.0 * value, mask=d < dim)

def lookup(ids, table):
    rows, dim = table.shape
    out = torch.empty((ids.numel(), dim), device=table.device, dtype=table.dtype)
    lookup_kernel[(ids.numel(),)](ids, table, out, rows, dim, BLOCK=triton.next_power_of_2(dim))
    return out
""",
)

ZOO = Written(
    """import torch
import mirage

@mirage.optimize(inputs=[((48, 64), "fp32"), ((48, 64), "bf16"), ((48, 64), "fp16"), ((48, 64), "int32")])
def zoo(x, y, z, n):
    return x + 1, x + 2, x.sum(-1), n + 1
""",
    r"""import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

LOG2E: tl.constexpr = 1.4426950408889634

@triton.jit
def _larger(a, i, b, j):
    first = a >= b
    return tl.where(first, a, b), tl.where(first, i, j)

@triton.jit
def _scaled(x, scale: tl.constexpr = 3):
    if scale > 2:
        return x * scale
    return x

@triton.jit
def _kernel(X, Y, Z, N, A, B, C, D, rows, stride, eps, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    row = pid.to(tl.int64) * stride
    x = tl.load(X + row + cols, mask=cols < 61, other=-1.5)
    y = tl.load(Y + row + cols)
    z = tl.load(Z + row + cols)
    n = tl.load(N + row + cols)
    a = _scaled(x) / (tl.abs(y).to(tl.float32) + eps) + z * 0.1 - tl.exp2(-x * LOG2E) * tl.sigmoid(y.to(tl.float32))
    a += (y * z).to(tl.float32) + (y + 1) * 2 + (z / 3) + (z * z - 1)
    half = tl.reshape(a, (2, BLOCK // 2))
    top, low = tl.max(half, axis=1, keep_dims=True), tl.min(half, axis=1, keep_dims=True)
    a = tl.reshape((half - low) / (top - low + 1), (BLOCK,))
    b = tl.cumsum(x, 0) + tl.math.rsqrt(tl.abs(x) + 1) + tl.floor(x) - tl.ceil(x * 0.5) + tl.erf(x) + tl.fma(x, x, 1.0)
    b = tl.where(n % 3 == 1, b, tl.maximum(x, tl.minimum(b, 2.5)))
    b += tl.trans(tl.broadcast_to(x[:, None], (BLOCK, 2))) if EVEN else 0.0
    i = pid
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(pid % 3, pid % 5, 2):
        total += k * x
    while i > rows // 2:
        total -= 1
        i = i // 2
    if pid % 2 == 0:
        total *= 2
    elif n.to(tl.float32).sum(0) > 0.0:
        total = -total
    best, where = tl.reduce((x, cols), 0, _larger)
    total += best + where + tl.argmax(x, 0) + tl.sum(x, 0) + tl.sum(n.to(tl.int8), 0) + tl.cdiv(pid + 1, 4)
    d = (n // 3) * 7 + n % 5 + (n >> 1) + (n << 2) + (n & 6) + (n | 1) + (n ^ 3) + ~n + (-n // 2) + (n > 1)
    d += ((n * 715827883) >> 3) + (x * 10).to(tl.int32)
    tl.store(A + row + cols, a)
    tl.store(B + row + cols, total + b, mask=cols < 63)
    tl.store(B + row + cols, x, mask=cols == 63)
    tl.store(C + pid, tl.sum(total))
    tl.store(D + row + cols, d)

def zoo(x, y, z, n):
    a, b = torch.empty_like(x), torch.empty_like(y, dtype=torch.float32)
    c, d = torch.empty(x.shape[0], device=x.device), torch.empty_like(n)
    _kernel[(x.shape[0],)](x, y, z, n, a, b, c, d, x.shape[0], x.stride(0), 1e-3, BLOCK=64, EVEN=False)
    return a, b, c, d
""",
)
