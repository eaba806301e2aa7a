# mirage:begin header
# formula: out[m, n, p] = sum_l(le(#l, #n) exp(sum_j(q[m,n,j] k[m,l,j]) / sqrt(|j|) - finite(max_l(where(…, …,
#     -inf)))) v[m,l,p] / sum_l(le(#l, #n) exp(… / … - finite(…))))
# laws: pull a factor out of a sum, guard of a maximum, exponential of a sum, cancellation
# tiles: main: m by 1 (8 blocks), n by 64 (16 blocks), p whole (64), j whole (64), l in a loop by 128 (8 steps); 4
#     warps, 3 stages
# made by: mirage
# program: 334cdfec0d713f29
# verdict: TESTED (bound 8.8e-39)
# time: 12.9 us estimated for H200, 168.5 us as written
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
def _causal_attention_main(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    J: tl.constexpr,
    L: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    P: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_J: tl.constexpr,
    BLOCK_L: tl.constexpr,
):
    pid = tl.program_id(0)
    blocks_n: tl.constexpr = (N + BLOCK_N - 1) // BLOCK_N
    pid_n = pid % blocks_n
    pid_m = pid // blocks_n
    i_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    i_j = tl.arange(0, BLOCK_J)
    in_n = (i_n < N) | (N % BLOCK_N == 0)
    in_j = (i_j < J) | (J % BLOCK_J == 0)
    i_p = tl.arange(0, BLOCK_P)
    in_p = (i_p < P) | (P % BLOCK_P == 0)
    r = tl.rsqrt(tl.full((), J, tl.float32))
    q = tl.load(
        q_ptr + pid_m * (N * J) + i_n[:, None] * J + i_j[None, :],
        mask=in_n[:, None] & in_j[None, :],
        other=0.0,
    )
    top_2 = tl.full((BLOCK_N,), float("-inf"), tl.float32)
    acc = tl.zeros((BLOCK_N,), tl.float32)
    acc_2 = tl.zeros((BLOCK_N, BLOCK_P), tl.float32)
    r_log2e = r * 1.4426950408889634
    for tile_l in range((L + BLOCK_L - 1) // BLOCK_L):
        i_l = tile_l * BLOCK_L + tl.arange(0, BLOCK_L)
        in_l = (i_l < L) | (L % BLOCK_L == 0)
        le = i_l[None, :] <= i_n[:, None]
        k = tl.load(
            k_ptr + pid_m * (L * J) + i_l[:, None] * J + i_j[None, :],
            mask=in_l[:, None] & in_j[None, :],
            other=0.0,
        )
        t = tl.dot(q, tl.trans(k))
        # in units of log2(e), for tl.exp2
        v = r_log2e * t
        where = tl.where(le, v, float("-inf"))
        v_2 = tl.where(in_l[None, :], where, float("-inf"))
        top = tl.max(v_2, axis=1)
        top_2_old = top_2
        top_2 = tl.maximum(top_2, top)
        finite = tl.where(top_2 == float("-inf"), 0.0, top_2)
        a = v - finite[:, None]
        p = tl.exp2(a)
        v_3 = tl.where(le, p, 0.0)
        v_4 = tl.where(in_l[None, :], v_3, 0.0)
        t_2 = tl.sum(v_4, axis=1)
        delta = -finite - -top_2_old
        alpha = tl.exp2(delta)
        acc = acc * alpha + t_2
        v_7 = tl.load(
            v_ptr + pid_m * (L * P) + i_l[:, None] * P + i_p[None, :],
            mask=in_l[:, None] & in_p[None, :],
            other=0.0,
        )
        acc_2 = tl.dot(v_4.to(v_7.dtype), v_7, acc_2 * alpha[:, None])
    v_8 = acc_2 / acc[:, None]
    tl.store(
        out_ptr + pid_m * (N * P) + i_n[:, None] * P + i_p[None, :],
        v_8.to(out_ptr.dtype.element_ty),
        mask=in_n[:, None] & in_p[None, :],
    )


# mirage:end kernels
# mirage:begin launcher


SIZES = {"j": 64, "l": 1024, "m": 8, "n": 1024, "p": 64}
TILES = {
    "main": {"m": 1, "n": 64, "p": 64, "j": 64, "l": 128},
}


def _run(q, k, v, sizes=SIZES, tiles=TILES):
    """Allocates, launches and returns. Made for j=64, l=1024, m=8, n=1024, p=64: raises ValueError for all else."""
    _refuse_others((_run, sizes, tiles), q, k, v)
    out = torch.empty((sizes["m"], sizes["n"], sizes["p"]), dtype=torch.float16, device=q.device)
    grid = (sizes["m"] * -(-sizes["n"] // tiles["main"]["n"]),)
    _causal_attention_main[grid](
        q,
        k,
        v,
        out,
        J=sizes["j"],
        L=sizes["l"],
        M=sizes["m"],
        N=sizes["n"],
        P=sizes["p"],
        BLOCK_N=tiles["main"]["n"],
        BLOCK_P=tiles["main"]["p"],
        BLOCK_J=tiles["main"]["j"],
        BLOCK_L=tiles["main"]["l"],
        num_warps=4,
        num_stages=3,
    )
    return out


_EXPECTED = (
    ((8, 1024, 64), torch.float16),  # q
    ((8, 1024, 64), torch.float16),  # k
    ((8, 1024, 64), torch.float16),  # v
)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_COMPILED = isinstance(_causal_attention_main, triton.JITFunction)


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


def causal_attention(q, k, v):
    """Attention of (heads, tokens, d) where row i sees the keys 0 to i."""
    if _fits(q, k, v):
        return _run(q, k, v)
    return _original_causal_attention(q, k, v)


# mirage:end launcher
# mirage:begin original


def _original_causal_attention(
    q,
    k,
    v,
):
    """Attention of (heads, tokens, d) where row i sees the keys 0 to i."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


# mirage:end original
# mirage:begin mugraph
# mugraph causal_attention
# axes j=64 l=1024 m=8 n=1024 p=64
# input q fp16 [m, n, j]
# input k fp16 [m, l, j]
# input v fp16 [m, l, p]
# output out fp16 [m, n, p]
# kernel main warps 4 stages 3:
#   block cluster 1:
#     dim m (m) grid tile 1
#     dim n (n) grid tile 64
#     dim p (p) resident tile 64
#     dim j (j) resident tile 64
#     dim l (l) loop tile 128
#     i_n[n] = index(axis=n)
#     r[] = thread:
#       size_j[] = size(axis=j)
#       r[] = rsqrt(size_j)
#     q[m, n, j] = load q[m, n, j]
#     ninf[] = const(value=-inf)
#     for l:
#       le[n, l] = thread:
#         i_l[l] = index(axis=l)
#         le[n, l] = le(i_l, i_n)
#       k[m, j, l] = load k[m, l, j]
#       t[m, n, l] = dot(q, k; dim=j)
#       v[m, n, l] = mul(r, t)
#       inside[l] = mask(dim=l)
#       v_2[m, n, l] = thread:
#         where[m, n, l] = where(le, v, ninf)
#         v_2[m, n, l] = where(inside, where, ninf)
#       top[m, n] = max(v_2; dim=l)
#       top_2[m, n] max= top
#       finite[m, n] = finite(top_2)
#       v_4[m, n, l] = thread:
#         a[m, n, l] = sub(v, finite)
#         p[m, n, l] = exp(a)
#         v_3[m, n, l] = mul(le, p)
#         v_4[m, n, l] = mul(inside, v_3)
#       t_2[m, n] = sum(v_4; dim=l)
#       alpha[m, n] = thread:
#         v_5[m, n] = neg(finite)
#         v_6[m, n] = neg(top_2@old)
#         delta[m, n] = sub(v_5, v_6)
#         alpha[m, n] = exp(delta)
#       acc[m, n] += t_2 carrying alpha*@self
#       v_7[m, p, l] = load v[m, l, p]
#       t_3[m, n, p] = dot(v_4, v_7; dim=l)
#       acc_2[m, n, p] += t_3 carrying alpha*@self
#     v_8[m, n, p] = div(acc_2, acc)
#     store out[m, n, p] = v_8
# mirage:end mugraph
