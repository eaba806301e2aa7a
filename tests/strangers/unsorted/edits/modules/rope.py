# mirage:begin header
# formula: out[m, n, p] = x[m,n,p] c[n,p] + where(lt(#p, 32), -x[m,n,p+32], x[m,n,p-32]) s[n,p]
# laws: none: as it is written
# tiles: main: m*n by 4 (128 blocks), p whole (64); 4 warps, 3 stages
# made by: mirage
# program: ef057a7bfe512d5f
# verdict: TESTED (bound 5.9e-39)
# time: 3.1 us estimated for H200, 10.2 us as written
# mirage:end header
# mirage:begin imports
from __future__ import annotations

import torch
import triton
import triton.language as tl
# mirage:end imports
# mirage:begin kernels


@triton.jit
def _rope_main(
    x_ptr,
    c_ptr,
    s_ptr,
    out_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    P: tl.constexpr,
    BLOCK_M_N: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    pid_m_n = tl.program_id(0)
    i_m_n = pid_m_n * BLOCK_M_N + tl.arange(0, BLOCK_M_N)
    i_n = i_m_n % N
    i_p = tl.arange(0, BLOCK_P)
    in_m_n = (i_m_n < M * N) | (M * N % BLOCK_M_N == 0)
    in_p = (i_p < P) | (P % BLOCK_P == 0)
    c = tl.load(
        c_ptr + i_n[:, None] * P + i_p[None, :],
        mask=in_m_n[:, None] & in_p[None, :],
        other=0.0,
    ).to(tl.float32)
    x = tl.load(
        x_ptr + i_m_n[:, None] * 64 + i_p[None, :],
        mask=in_m_n[:, None] & in_p[None, :],
        other=0.0,
    ).to(tl.float32)
    s = tl.load(
        s_ptr + i_n[:, None] * P + i_p[None, :],
        mask=in_m_n[:, None] & in_p[None, :],
        other=0.0,
    ).to(tl.float32)
    x_2 = tl.load(
        x_ptr + i_m_n[:, None] * 64 + i_p[None, :] + 32,
        mask=in_m_n[:, None] & in_p[None, :] & (i_p + 32 < 64)[None, :],
        other=0.0,
    ).to(tl.float32)
    x_3 = tl.load(
        x_ptr + i_m_n[:, None] * 64 + i_p[None, :] - 32,
        mask=in_m_n[:, None] & in_p[None, :] & (i_p - 32 >= 0)[None, :] & (i_p - 32 < 64)[None, :],
        other=0.0,
    ).to(tl.float32)
    v = c * x
    lt = i_p < 32
    where = tl.where(lt[None, :], -x_2, x_3)
    v_3 = s * where
    a = v + v_3
    tl.store(
        out_ptr + i_m_n[:, None] * P + i_p[None, :],
        a.to(out_ptr.dtype.element_ty),
        mask=in_m_n[:, None] & in_p[None, :],
    )


# mirage:end kernels
# mirage:begin launcher


SIZES = {"m": 4, "n": 128, "p": 64}
TILES = {
    "main": {"m_n": 4, "p": 64},
}


def _run(x, c, s, sizes=SIZES, tiles=TILES):
    """Allocates, launches and returns. Made for m=4, n=128, p=64: raises ValueError for all else."""
    _refuse_others((_run, sizes, tiles), x, c, s)
    out = torch.empty((sizes["m"], sizes["n"], sizes["p"]), dtype=torch.float16, device=x.device)
    grid = (-(-sizes["m"] * sizes["n"] // tiles["main"]["m_n"]),)
    _rope_main[grid](
        x,
        c,
        s,
        out,
        M=sizes["m"],
        N=sizes["n"],
        P=sizes["p"],
        BLOCK_M_N=tiles["main"]["m_n"],
        BLOCK_P=tiles["main"]["p"],
        num_warps=4,
        num_stages=3,
    )
    return out


_EXPECTED = (
    ((4, 128, 64), torch.float16),  # x
    ((128, 64), torch.float16),  # c
    ((128, 64), torch.float16),  # s
)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_COMPILED = isinstance(_rope_main, triton.JITFunction)


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


def rope(x, c, s):
    if _fits(x, c, s):
        return _run(x, c, s)
    return _original_rope(x, c, s)


# mirage:end launcher
# mirage:begin original


def _original_rope(x, c, s):
    a, b = x[..., :32], x[..., 32:]
    return x * c + torch.cat([-b, a], -1) * s


# mirage:end original
# mirage:begin mugraph
# mugraph rope
# axes m=4 n=128 p=64
# input x fp16 [m, n, p] sizes [_, _, 64]
# input c fp16 [n, p]
# input s fp16 [n, p]
# output out fp16 [m, n, p]
# kernel main warps 4 stages 3:
#   block cluster 1:
#     dim m_n (m*n) grid tile 4
#     dim p (p) resident tile 64
#     c[m_n, p] = load c[n, p]
#     x[m_n, p] = load x[m, n, p]
#     s[m_n, p] = load s[n, p]
#     x_2[m_n, p] = load x[m, n, p+32]
#     x_3[m_n, p] = load x[m, n, p-32]
#     a[m_n, p] = thread:
#       v[m_n, p] = mul(c, x)
#       i_p[p] = index(axis=p)
#       c_2[] = const(value=32)
#       lt[p] = lt(i_p, c_2)
#       v_2[m_n, p] = neg(x_2)
#       where[m_n, p] = where(lt, v_2, x_3)
#       v_3[m_n, p] = mul(s, where)
#       a[m_n, p] = add(v, v_3)
#     store out[m, n, p] = a
# mirage:end mugraph
