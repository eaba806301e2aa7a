# mirage:begin header
# formula: out[m, n] = (x[m,n] - sum_n(x[m,n]) / |n|) g[n] / sqrt(sum_n((x[m,n] - sum_n(x[m,n]) / |n|) (x[m,n] -
#     sum_n(x[m,n]) / |n|)) / |n| + (1/100000)) + b[n]
# laws: none: as it is written
# tiles: main: m by 2 (48 blocks), n in a loop by 1024 (1 steps); 4 warps, 3 stages
# made by: mirage
# program: a0aaf8df53c8c8da
# verdict: TESTED (bound 5.9e-39)
# time: 2.9 us estimated for H200, 9.2 us as written
# mirage:end header
# mirage:begin imports
from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
# mirage:end imports
# mirage:begin kernels


@triton.jit
def _lnorm_main(
    x_ptr,
    g_ptr,
    b_ptr,
    out_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    pid_m = tl.program_id(0)
    i_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    in_m = (i_m < M) | (M % BLOCK_M == 0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for tile_n in tl.range((N + BLOCK_N - 1) // BLOCK_N, num_stages=3):
        i_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
        in_n = (i_n < N) | (N % BLOCK_N == 0)
        x = tl.load(
            x_ptr + i_m[:, None] * N + i_n[None, :],
            mask=in_m[:, None] & in_n[None, :],
            other=0.0,
        ).to(tl.float32)
        acc += x
    acc_2 = tl.sum(acc, axis=1)
    v = acc_2 / N
    acc_2_2 = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for tile_n_2 in tl.range((N + BLOCK_N - 1) // BLOCK_N, num_stages=3):
        i_n = tile_n_2 * BLOCK_N + tl.arange(0, BLOCK_N)
        in_n = (i_n < N) | (N % BLOCK_N == 0)
        x_2 = tl.load(
            x_ptr + i_m[:, None] * N + i_n[None, :],
            mask=in_m[:, None] & in_n[None, :],
            other=0.0,
        ).to(tl.float32)
        a = x_2 - v[:, None]
        v_2 = a * a
        v_3 = tl.where(in_n[None, :], v_2, 0.0)
        acc_2_2 += v_3
    acc_2_3 = tl.sum(acc_2_2, axis=1)
    v_4 = acc_2_3 / N
    a_2 = v_4 + 1e-05
    r = tl.rsqrt(a_2)
    for tile_n_3 in tl.range((N + BLOCK_N - 1) // BLOCK_N, num_stages=3):
        i_n = tile_n_3 * BLOCK_N + tl.arange(0, BLOCK_N)
        in_n = (i_n < N) | (N % BLOCK_N == 0)
        b = tl.load(b_ptr + i_n, mask=in_n, other=0.0).to(tl.float32)
        g = tl.load(g_ptr + i_n, mask=in_n, other=0.0).to(tl.float32)
        x_3 = tl.load(
            x_ptr + i_m[:, None] * N + i_n[None, :],
            mask=in_m[:, None] & in_n[None, :],
            other=0.0,
            eviction_policy="evict_first",
        ).to(tl.float32)
        a_3 = x_3 - v[:, None]
        v_5 = g[None, :] * r[:, None] * a_3
        a_4 = b[None, :] + v_5
        tl.store(
            out_ptr + i_m[:, None] * N + i_n[None, :],
            a_4.to(out_ptr.dtype.element_ty),
            mask=in_m[:, None] & in_n[None, :],
        )


# mirage:end kernels
# mirage:begin launcher


SIZES = {"m": 96, "n": 768}
TILES = {
    "main": {"m": 2, "n": 1024},
}


def _run(x, g, b, sizes=SIZES, tiles=TILES):
    """Allocates, launches and returns. Made for m=96, n=768: raises ValueError for all else."""
    _refuse_others((_run, sizes, tiles), x, g, b)
    out = torch.empty((sizes["m"], sizes["n"]), dtype=torch.float16, device=x.device)
    grid = (-(-sizes["m"] // tiles["main"]["m"]),)
    _lnorm_main[grid](
        x,
        g,
        b,
        out,
        M=sizes["m"],
        N=sizes["n"],
        BLOCK_M=tiles["main"]["m"],
        BLOCK_N=tiles["main"]["n"],
        num_warps=4,
        num_stages=3,
    )
    return out


_EXPECTED = (
    ((96, 768), torch.float16),  # x
    ((768,), torch.float16),  # g
    ((768,), torch.float16),  # b
)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_COMPILED = isinstance(_lnorm_main, triton.JITFunction)


def _fits(*tensors):
    """Whether the kernels were made for these tensors; if not, the original runs."""
    grad = torch.is_grad_enabled()
    device = getattr(tensors[0], "device", None)
    given = []
    for t in tensors:
        if type(t) not in _PLAIN or t.device != device:
            return False
        if not t.is_contiguous() or (grad and t.requires_grad):
            return False
        given.append((t.shape, t.dtype))
    if _COMPILED:
        here = t.is_cuda and device.index == torch.cuda.current_device()
    else:  # in Triton's interpreter
        here = t.is_cpu
    return here and tuple(given) == _EXPECTED


def _refuse_others(made, *tensors):
    """Raises ValueError unless a launcher, its sizes and tiles, `made`, are those for these tensors."""
    given = []
    for t in tensors:
        given.append((t.shape, t.dtype) if t.is_contiguous() else None)
    if tuple(given) != _EXPECTED or made != (_run, SIZES, TILES):
        raise ValueError(f"these kernels were made for {_EXPECTED}, SIZES and TILES alone, not for {given}")


def lnorm(x, g, b):
    if _fits(x, g, b):
        return _run(x, g, b)
    return _original_lnorm(x, g, b)


# mirage:end launcher
# mirage:begin original


def _original_lnorm(x, g, b):
    return F.layer_norm(x, (768,), g, b, 1e-5)


# mirage:end original
# mirage:begin mugraph
# mugraph lnorm
# axes m=96 n=768
# input x fp16 [m, n]
# input g fp16 [n]
# input b fp16 [n]
# output out fp16 [m, n]
# kernel main warps 4 stages 3:
#   block cluster 1:
#     dim m (m) grid tile 2
#     dim n (n) loop tile 1024
#     size_n[] = size(axis=n)
#     for n:
#       x[m, n] = load x[m, n]
#       t[m] = sum(x; dim=n)
#       acc[m] += t
#     v[m] = div(acc, size_n)
#     for n:
#       x_2[m, n] = load x[m, n]
#       v_3[m, n] = thread:
#         a[m, n] = sub(x_2, v)
#         v_2[m, n] = mul(a, a)
#         inside[n] = mask(dim=n)
#         v_3[m, n] = mul(inside, v_2)
#       t_2[m] = sum(v_3; dim=n)
#       acc_2[m] += t_2
#     r[m] = thread:
#       v_4[m] = div(acc_2, size_n)
#       c[] = const(value=1/100000)
#       a_2[m] = add(v_4, c)
#       r[m] = rsqrt(a_2)
#     for n:
#       b[n] = load b[n]
#       g[n] = load g[n]
#       x_3[m, n] = load x[m, n]
#       a_4[m, n] = thread:
#         a_3[m, n] = sub(x_3, v)
#         v_5[m, n] = mul(g, r, a_3)
#         a_4[m, n] = add(b, v_5)
#       store out[m, n] = a_4
# mirage:end mugraph
