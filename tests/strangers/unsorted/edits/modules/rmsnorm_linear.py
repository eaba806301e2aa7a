# mirage:begin header
# formula: out[m, n] = sum_k(x[m,k] g[k] w[n,k] / sqrt(sum_k(x[m,k] x[m,k]) / |k| + (1/1000000)))
# laws: split of a reduction, pull a factor out of a sum
# tiles: main: k_part in 4 parts, m whole (16), n by 128 (32 blocks), k in a loop by 256 (4 steps); 4 warps, 3 stages
# tiles: main_combine: m whole (16), n by 32 (128 blocks), k_part whole (4); 4 warps, 3 stages
# made by: mirage
# program: 0304a8df466a8478
# verdict: TESTED (bound 5.9e-39)
# time: 13.3 us estimated for H200, 20.2 us as written
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
def _rmsnorm_linear_main(
    x_ptr,
    g_ptr,
    w_ptr,
    out_part0_ptr,
    out_part1_ptr,
    K: tl.constexpr,
    K_PART: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    PARTS_K_PART: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0)
    blocks_n: tl.constexpr = (N + BLOCK_N - 1) // BLOCK_N
    pid_n = pid % blocks_n
    pid_k_part = pid // blocks_n
    i_m = tl.arange(0, BLOCK_M)
    in_m = (i_m < M) | (M % BLOCK_M == 0)
    i_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    in_n = (i_n < N) | (N % BLOCK_N == 0)
    acc = tl.zeros((BLOCK_M, BLOCK_K), tl.float32)
    acc_2 = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    tiles_k: tl.constexpr = (K + BLOCK_K - 1) // BLOCK_K
    share_k: tl.constexpr = (tiles_k + PARTS_K_PART - 1) // PARTS_K_PART
    first_k = pid_k_part * share_k
    for tile_k in range(first_k, min(first_k + share_k, tiles_k)):
        i_k = tile_k * BLOCK_K + tl.arange(0, BLOCK_K)
        in_k = (i_k < K) | (K % BLOCK_K == 0)
        x = tl.load(
            x_ptr + i_m[:, None] * K + i_k[None, :],
            mask=in_m[:, None] & in_k[None, :],
            other=0.0,
        ).to(tl.float32)
        v = x * x
        acc += v
        g = tl.load(g_ptr + i_k, mask=in_k, other=0.0).to(tl.float32)
        v_2 = g[None, :] * x
        w = tl.load(
            w_ptr + i_n[:, None] * K + i_k[None, :],
            mask=in_n[:, None] & in_k[None, :],
            other=0.0,
            eviction_policy="evict_first",
        )
        acc_2 = tl.dot(w, tl.trans(v_2.to(w.dtype)), acc_2)
    acc_3 = tl.sum(acc, axis=1)
    if pid_n == 0:
        tl.store(out_part0_ptr + pid_k_part * M + i_m, acc_3, mask=in_m)
    tl.store(
        out_part1_ptr + i_n[:, None] * (K_PART * M) + pid_k_part * M + i_m[None, :],
        acc_2,
        mask=in_n[:, None] & in_m[None, :],
    )


@triton.jit
def _rmsnorm_linear_main_combine(
    out_part0_ptr,
    out_part1_ptr,
    out_ptr,
    K: tl.constexpr,
    K_PART: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K_PART: tl.constexpr,
):
    pid_n = tl.program_id(0)
    i_k_part = tl.arange(0, BLOCK_K_PART)
    i_m = tl.arange(0, BLOCK_M)
    in_k_part = (i_k_part < K_PART) | (K_PART % BLOCK_K_PART == 0)
    in_m = (i_m < M) | (M % BLOCK_M == 0)
    i_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    in_n = (i_n < N) | (N % BLOCK_N == 0)
    out_part0 = tl.load(
        out_part0_ptr + i_k_part[:, None] * M + i_m[None, :],
        mask=in_k_part[:, None] & in_m[None, :],
        other=0.0,
    )
    t = tl.sum(out_part0, axis=0)
    out_part1 = tl.load(
        out_part1_ptr + i_n[:, None, None] * (K_PART * M) + i_k_part[None, :, None] * M + i_m[None, None, :],
        mask=in_n[:, None, None] & in_k_part[None, :, None] & in_m[None, None, :],
        other=0.0,
    )
    t_2 = tl.sum(out_part1, axis=1)
    v = t / K
    a = v + 1e-06
    r = tl.rsqrt(a)
    v_2 = r[:, None] * tl.trans(t_2)
    tl.store(
        out_ptr + i_m[:, None] * N + i_n[None, :],
        v_2.to(out_ptr.dtype.element_ty),
        mask=in_m[:, None] & in_n[None, :],
    )


# mirage:end kernels
# mirage:begin launcher


SIZES = {"k": 4096, "k_part": 4, "m": 16, "n": 4096}
TILES = {
    "main": {"k_part": 4, "m": 16, "n": 128, "k": 256},
    "main_combine": {"m": 16, "n": 32, "k_part": 4},
}


def _run(x, g, w, sizes=SIZES, tiles=TILES):
    """Allocates, launches and returns. Made for k=4096, k_part=4, m=16, n=4096: raises ValueError for all else."""
    _refuse_others((_run, sizes, tiles), x, g, w)
    out_part0 = torch.empty((sizes["k_part"], sizes["m"]), dtype=torch.float32, device=x.device)
    out_part1 = torch.empty((sizes["n"], sizes["k_part"], sizes["m"]), dtype=torch.float32, device=x.device)
    out = torch.empty((sizes["m"], sizes["n"]), dtype=torch.float16, device=x.device)
    grid = (tiles["main"]["k_part"] * -(-sizes["n"] // tiles["main"]["n"]),)
    _rmsnorm_linear_main[grid](
        x,
        g,
        w,
        out_part0,
        out_part1,
        K=sizes["k"],
        K_PART=sizes["k_part"],
        M=sizes["m"],
        N=sizes["n"],
        PARTS_K_PART=tiles["main"]["k_part"],
        BLOCK_M=tiles["main"]["m"],
        BLOCK_N=tiles["main"]["n"],
        BLOCK_K=tiles["main"]["k"],
        num_warps=4,
        num_stages=3,
    )
    grid_2 = (-(-sizes["n"] // tiles["main_combine"]["n"]),)
    _rmsnorm_linear_main_combine[grid_2](
        out_part0,
        out_part1,
        out,
        K=sizes["k"],
        K_PART=sizes["k_part"],
        M=sizes["m"],
        N=sizes["n"],
        BLOCK_M=tiles["main_combine"]["m"],
        BLOCK_N=tiles["main_combine"]["n"],
        BLOCK_K_PART=tiles["main_combine"]["k_part"],
        num_warps=4,
        num_stages=3,
    )
    return out


_EXPECTED = (
    ((16, 4096), torch.float16),  # x
    ((4096,), torch.float16),  # g
    ((4096, 4096), torch.float16),  # w
)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_COMPILED = isinstance(_rmsnorm_linear_main, triton.JITFunction)


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


def rmsnorm_linear(x, g, w):
    """RMS-normalize the rows of x, scale by g, project by w (out, in)."""
    if _fits(x, g, w):
        return _run(x, g, w)
    return _original_rmsnorm_linear(x, g, w)


# mirage:end launcher
# mirage:begin original


def _original_rmsnorm_linear(
    x,
    g,
    w,
):
    """RMS-normalize the rows of x, scale by g, project by w (out, in)."""
    return F.linear(F.rms_norm(x, (4096,), g, 1e-6), w)


# mirage:end original
# mirage:begin mugraph
# mugraph rmsnorm_linear
# axes k=4096 k_part=4 m=16 n=4096
# input x fp16 [m, k]
# input g fp16 [k]
# input w fp16 [n, k]
# temp out_part0 fp32 [k_part, m]
# temp out_part1 fp32 [n, k_part, m]
# output out fp16 [m, n]
# kernel main warps 4 stages 3:
#   block cluster 1:
#     dim k_part (k_part) split tile 1 splits k parts 4
#     dim m (m) resident tile 16
#     dim n (n) grid tile 128
#     dim k (k) loop tile 256
#     for k:
#       x[m, k] = load x[m, k]
#       v[m, k] = mul(x, x)
#       t[m] = sum(v; dim=k)
#       acc[m] += t
#       g[k] = load g[k]
#       v_2[m, k] = mul(g, x)
#       w[n, k] = load w[n, k]
#       t_2[n, m] = dot(v_2, w; dim=k)
#       acc_2[n, m] += t_2
#     store out_part0[k_part, m] = acc first n
#     store out_part1[n, k_part, m] = acc_2
# kernel main_combine warps 4 stages 3:
#   block cluster 1:
#     dim m (m) resident tile 16
#     dim n (n) grid tile 32
#     dim k_part (k_part) resident tile 4
#     out_part0[k_part, m] = load out_part0[k_part, m]
#     t[m] = sum(out_part0; dim=k_part)
#     out_part1[n, k_part, m] = load out_part1[n, k_part, m]
#     t_2[n, m] = sum(out_part1; dim=k_part)
#     v_2[m, n] = thread:
#       size_k[] = size(axis=k)
#       v[m] = div(t, size_k)
#       c[] = const(value=1/1000000)
#       a[m] = add(v, c)
#       r[m] = rsqrt(a)
#       v_2[m, n] = mul(r, t_2)
#     store out[m, n] = v_2
# mirage:end mugraph
