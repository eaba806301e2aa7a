# mirage:begin header
# formula: out[n, p, u] = sum_l(m[p,l] exp(sum_j(…) / sqrt(|j|) - finite(max_l(…))) v[n,l,u] / where(eq(sum_l(…), 0),
#     1, sum_l(m[p,l] …)))
# laws: pull a factor out of a sum
# tiles: make_tmp4: n by 1 (4 blocks), p by 16 (6 blocks), j whole (64), l whole (256); 4 warps, 3 stages
# tiles: main: n by 1 (4 blocks), p by 64 (2 blocks), u by 32 (2 blocks), l in a loop by 128 (2 steps); 4 warps, 3
#     stages
# made by: mirage
# program: 3b752724e02f7252
# verdict: TESTED (no bound)
# time: 5.9 us estimated for H200, 32.1 us as written
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
def _maskattn_make_tmp4(
    q_ptr,
    k_ptr,
    m_ptr,
    tmp4_ptr,
    J: tl.constexpr,
    L: tl.constexpr,
    N: tl.constexpr,
    P: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_J: tl.constexpr,
    BLOCK_L: tl.constexpr,
):
    pid = tl.program_id(0)
    blocks_p: tl.constexpr = (P + BLOCK_P - 1) // BLOCK_P
    pid_p = pid % blocks_p
    pid_n = pid // blocks_p
    i_p = pid_p * BLOCK_P + tl.arange(0, BLOCK_P)
    i_l = tl.arange(0, BLOCK_L)
    in_p = (i_p < P) | (P % BLOCK_P == 0)
    in_l = (i_l < L) | (L % BLOCK_L == 0)
    i_j = tl.arange(0, BLOCK_J)
    in_j = (i_j < J) | (J % BLOCK_J == 0)
    m = tl.load(
        m_ptr + i_p[:, None] * L + i_l[None, :],
        mask=in_p[:, None] & in_l[None, :],
        other=0,
    )
    m = tl.trans(m)
    q = tl.load(
        q_ptr + pid_n * (P * J) + i_p[:, None] * J + i_j[None, :],
        mask=in_p[:, None] & in_j[None, :],
        other=0.0,
    )
    k = tl.load(
        k_ptr + pid_n * (L * J) + i_l[:, None] * J + i_j[None, :],
        mask=in_l[:, None] & in_j[None, :],
        other=0.0,
    )
    t = tl.dot(k, tl.trans(q))
    r = tl.rsqrt(tl.full((), J, tl.float32))
    v = r * t
    where = tl.where(m, v, float("-inf"))
    v_2 = tl.where(in_l[:, None], where, float("-inf"))
    top = tl.max(v_2, axis=0)
    finite = tl.where(top == float("-inf"), 0.0, top)
    a = v - finite[None, :]
    p = tl.exp(a)
    v_3 = tl.where(m, p, 0.0)
    tl.store(
        tmp4_ptr + i_l[:, None] * (N * P) + pid_n * P + i_p[None, :],
        v_3.to(tmp4_ptr.dtype.element_ty),
        mask=in_l[:, None] & in_p[None, :],
    )


@triton.jit
def _maskattn_main(
    v_ptr,
    tmp4_ptr,
    out_ptr,
    L: tl.constexpr,
    N: tl.constexpr,
    P: tl.constexpr,
    U: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_U: tl.constexpr,
    BLOCK_L: tl.constexpr,
):
    pid = tl.program_id(0)
    blocks_u: tl.constexpr = (U + BLOCK_U - 1) // BLOCK_U
    pid_u = pid % blocks_u
    pid_rest = pid // blocks_u
    blocks_p: tl.constexpr = (P + BLOCK_P - 1) // BLOCK_P
    pid_p = pid_rest % blocks_p
    pid_n = pid_rest // blocks_p
    i_u = pid_u * BLOCK_U + tl.arange(0, BLOCK_U)
    in_u = (i_u < U) | (U % BLOCK_U == 0)
    i_p = pid_p * BLOCK_P + tl.arange(0, BLOCK_P)
    in_p = (i_p < P) | (P % BLOCK_P == 0)
    acc_2 = tl.zeros((BLOCK_P, BLOCK_U), tl.float32)
    acc = tl.zeros((BLOCK_P, BLOCK_L), tl.float32)
    for tile_l in range((L + BLOCK_L - 1) // BLOCK_L):
        i_l = tile_l * BLOCK_L + tl.arange(0, BLOCK_L)
        in_l = (i_l < L) | (L % BLOCK_L == 0)
        v = tl.load(
            v_ptr + pid_n * (L * U) + i_l[:, None] * U + i_u[None, :],
            mask=in_l[:, None] & in_u[None, :],
            other=0.0,
        )
        tmp4 = tl.load(
            tmp4_ptr + i_l[:, None] * (N * P) + pid_n * P + i_p[None, :],
            mask=in_l[:, None] & in_p[None, :],
            other=0.0,
        )
        tmp4_f32 = tmp4.to(tl.float32)
        # + 0.0 waits for the product: its operand is also read otherwise, and Triton would
        # load the tile after the next over it
        acc_2 = tl.dot(tl.trans(tmp4), v, acc_2) + 0.0
        acc += tl.trans(tmp4_f32)
    acc_3 = tl.sum(acc, axis=1)
    eq = 0.0 == acc_3
    where = tl.where(eq, 1.0, acc_3)
    v_2 = acc_2 / where[:, None]
    tl.store(
        out_ptr + pid_n * (P * U) + i_p[:, None] * U + i_u[None, :],
        v_2.to(out_ptr.dtype.element_ty),
        mask=in_p[:, None] & in_u[None, :],
    )


# mirage:end kernels
# mirage:begin launcher


SIZES = {"j": 64, "l": 160, "n": 4, "p": 96, "u": 64}
TILES = {
    "make_tmp4": {"n": 1, "p": 16, "j": 64, "l": 256},
    "main": {"n": 1, "p": 64, "u": 32, "l": 128},
}


def _run(q, k, v, m, sizes=SIZES, tiles=TILES):
    """Allocates, launches and returns. Made for j=64, l=160, n=4, p=96, u=64: raises ValueError for all else."""
    _refuse_others((_run, sizes, tiles), q, k, v, m)
    tmp4 = torch.empty((sizes["l"], sizes["n"], sizes["p"]), dtype=torch.float16, device=q.device)
    out = torch.empty((sizes["n"], sizes["p"], sizes["u"]), dtype=torch.float16, device=q.device)
    grid = (sizes["n"] * -(-sizes["p"] // tiles["make_tmp4"]["p"]),)
    _maskattn_make_tmp4[grid](
        q,
        k,
        m,
        tmp4,
        J=sizes["j"],
        L=sizes["l"],
        N=sizes["n"],
        P=sizes["p"],
        BLOCK_P=tiles["make_tmp4"]["p"],
        BLOCK_J=tiles["make_tmp4"]["j"],
        BLOCK_L=tiles["make_tmp4"]["l"],
        num_warps=4,
        num_stages=3,
    )
    grid_2 = (sizes["n"] * -(-sizes["p"] // tiles["main"]["p"]) * -(-sizes["u"] // tiles["main"]["u"]),)
    _maskattn_main[grid_2](
        v,
        tmp4,
        out,
        L=sizes["l"],
        N=sizes["n"],
        P=sizes["p"],
        U=sizes["u"],
        BLOCK_P=tiles["main"]["p"],
        BLOCK_U=tiles["main"]["u"],
        BLOCK_L=tiles["main"]["l"],
        num_warps=4,
        num_stages=3,
    )
    return out


_EXPECTED = (
    ((4, 96, 64), torch.float16),  # q
    ((4, 160, 64), torch.float16),  # k
    ((4, 160, 64), torch.float16),  # v
    ((96, 160), torch.bool),  # m
)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_COMPILED = isinstance(_maskattn_make_tmp4, triton.JITFunction)


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


def maskattn(q, k, v, m):
    if _fits(q, k, v, m):
        return _run(q, k, v, m)
    return _original_maskattn(q, k, v, m)


# mirage:end launcher
# mirage:begin original


def _original_maskattn(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=m)


# mirage:end original
# mirage:begin mugraph
# mugraph maskattn
# axes j=64 l=160 n=4 p=96 u=64
# input q fp16 [n, p, j]
# input k fp16 [n, l, j]
# input v fp16 [n, l, u]
# input m bool [p, l]
# temp tmp4 fp16 [l, n, p]
# output out fp16 [n, p, u]
# kernel make_tmp4 warps 4 stages 3:
#   block cluster 1:
#     dim n (n) grid tile 1
#     dim p (p) grid tile 16
#     dim j (j) resident tile 64
#     dim l (l) resident tile 256
#     m[l, p] = load m[p, l]
#     q[n, p, j] = load q[n, p, j]
#     k[n, j, l] = load k[n, l, j]
#     t[n, l, p] = dot(q, k; dim=j)
#     v[n, l, p] = thread:
#       size_j[] = size(axis=j)
#       r[] = rsqrt(size_j)
#       v[n, l, p] = mul(r, t)
#     ninf[] = const(value=-inf)
#     v_2[n, l, p] = thread:
#       where[n, l, p] = where(m, v, ninf)
#       inside[l] = mask(dim=l)
#       v_2[n, l, p] = where(inside, where, ninf)
#     top[n, p] = max(v_2; dim=l)
#     v_3[n, l, p] = thread:
#       finite[n, p] = finite(top)
#       a[n, l, p] = sub(v, finite)
#       p[n, l, p] = exp(a)
#       v_3[n, l, p] = mul(m, p)
#     store tmp4[l, n, p] = v_3
# kernel main warps 4 stages 3:
#   block cluster 1:
#     dim n (n) grid tile 1
#     dim p (p) grid tile 64
#     dim u (u) grid tile 32
#     dim l (l) loop tile 128
#     for l:
#       v[n, u, l] = load v[n, l, u]
#       tmp4[n, l, p] = load tmp4[l, n, p]
#       t_2[n, p, u] = dot(tmp4, v; dim=l)
#       t[n, p] = sum(tmp4; dim=l)
#       acc_2[n, p, u] += t_2
#       acc[n, p] += t
#     v_2[n, p, u] = thread:
#       c[] = const(value=0)
#       eq[n, p] = eq(c, acc)
#       c_2[] = const(value=1)
#       where[n, p] = where(eq, c_2, acc)
#       v_2[n, p, u] = div(acc_2, where)
#     store out[n, p, u] = v_2
# mirage:end mugraph
