# mirage:begin header
# formula: out[m, n] = exp(x[m,n] - finite(max_n(x[m,n]))) / sum_n(exp(x[m,n] - finite(max_n(x[m,n]))))
# laws: guard of a maximum, exponential of a sum, pull a factor out of a sum, cancellation
# tiles: main: m by 1 (128 blocks), n in a loop by 4096 (1 steps); 4 warps, 3 stages
# made by: mirage
# program: 44c653203e92624f
# verdict: TESTED (bound 5.9e-39)
# time: 3.1 us estimated for H200, 4.4 us as written
# mirage:end header
# mirage:begin imports
from __future__ import annotations

import torch
import triton
import triton.language as tl
# mirage:end imports
# mirage:begin kernels


@triton.jit
def _softmax_main(
    x_ptr,
    out_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    pid_m = tl.program_id(0)
    top_2 = tl.full((), float("-inf"), tl.float32)
    acc = tl.full((), 0.0, tl.float32)
    for tile_n in tl.range((N + BLOCK_N - 1) // BLOCK_N, num_stages=3):
        i_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
        in_n = (i_n < N) | (N % BLOCK_N == 0)
        x = tl.load(x_ptr + pid_m * N + i_n, mask=in_n, other=0.0).to(tl.float32)
        v = tl.where(in_n, x, float("-inf"))
        top = tl.max(v, axis=0)
        top_2_old = top_2
        top_2 = tl.maximum(top_2, top)
        finite = tl.where(top_2 == float("-inf"), 0.0, top_2)
        a = x - finite
        p = tl.exp(a)
        v_2 = tl.where(in_n, p, 0.0)
        t = tl.sum(v_2, axis=0)
        delta = -finite - -top_2_old
        alpha = tl.exp(delta)
        acc = acc * alpha + t
    finite_2 = tl.where(top_2 == float("-inf"), 0.0, top_2)
    for tile_n_2 in tl.range((N + BLOCK_N - 1) // BLOCK_N, num_stages=3):
        i_n = tile_n_2 * BLOCK_N + tl.arange(0, BLOCK_N)
        in_n = (i_n < N) | (N % BLOCK_N == 0)
        x_2 = tl.load(
            x_ptr + pid_m * N + i_n,
            mask=in_n,
            other=0.0,
            eviction_policy="evict_first",
        ).to(tl.float32)
        a_2 = x_2 - finite_2
        p_2 = tl.exp(a_2)
        v_5 = p_2 / acc
        tl.store(out_ptr + pid_m * N + i_n, v_5.to(out_ptr.dtype.element_ty), mask=in_n)


# mirage:end kernels
# mirage:begin launcher


SIZES = {"m": 128, "n": 4096}
TILES = {
    "main": {"m": 1, "n": 4096},
}


def _run(x, sizes=SIZES, tiles=TILES):
    """Allocates, launches and returns. Made for m=128, n=4096: raises ValueError for all else."""
    _refuse_others((_run, sizes, tiles), x)
    out = torch.empty((sizes["m"], sizes["n"]), dtype=torch.float16, device=x.device)
    grid = (sizes["m"],)
    _softmax_main[grid](
        x,
        out,
        M=sizes["m"],
        N=sizes["n"],
        BLOCK_N=tiles["main"]["n"],
        num_warps=4,
        num_stages=3,
    )
    return out


_EXPECTED = (
    ((128, 4096), torch.float16),  # x
)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_COMPILED = isinstance(_softmax_main, triton.JITFunction)


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


def softmax(x):
    """The softmax of each row."""
    if _fits(x):
        return _run(x)
    return _original_softmax(x)


# mirage:end launcher
# mirage:begin original


def _original_softmax(
    x,
):
    """The softmax of each row."""
    return torch.softmax(x, dim=-1)


# mirage:end original
# mirage:begin mugraph
# mugraph softmax
# axes m=128 n=4096
# input x fp16 [m, n]
# output out fp16 [m, n]
# kernel main warps 4 stages 3:
#   block cluster 1:
#     dim m (m) grid tile 1
#     dim n (n) loop tile 4096
#     ninf[] = const(value=-inf)
#     for n:
#       x[m, n] = load x[m, n]
#       inside[n] = mask(dim=n)
#       v[m, n] = where(inside, x, ninf)
#       top[m] = max(v; dim=n)
#       top_2[m] max= top
#       finite[m] = finite(top_2)
#       v_2[m, n] = thread:
#         a[m, n] = sub(x, finite)
#         p[m, n] = exp(a)
#         v_2[m, n] = mul(inside, p)
#       t[m] = sum(v_2; dim=n)
#       alpha[m] = thread:
#         v_3[m] = neg(finite)
#         v_4[m] = neg(top_2@old)
#         delta[m] = sub(v_3, v_4)
#         alpha[m] = exp(delta)
#       acc[m] += t carrying alpha*@self
#     finite_2[m] = finite(top_2)
#     for n:
#       x_2[m, n] = load x[m, n]
#       v_5[m, n] = thread:
#         a_2[m, n] = sub(x_2, finite_2)
#         p_2[m, n] = exp(a_2)
#         v_5[m, n] = div(p_2, acc)
#       store out[m, n] = v_5
# mirage:end mugraph
