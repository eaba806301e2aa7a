# mirage:begin header
# formula: out[m] = sum_k(x[m,k] x[m,k]) / |k|
# laws: none: as it is written
# tiles: main: m by 1 (8 blocks), k in a loop by 4096 (5 steps); 4 warps, 3 stages
# made by: mirage
# program: d9edcb03d6bbf404
# verdict: TESTED (bound 5.9e-39)
# time: 3.7 us estimated for H200, 4.7 us as written
# mirage:end header
# mirage:begin imports
from __future__ import annotations

import torch
import triton
import triton.language as tl
# mirage:end imports
# mirage:begin kernels


@triton.jit
def _rowsum_main(
    x_ptr,
    out_ptr,
    K: tl.constexpr,
    M: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(0)
    acc = tl.zeros((BLOCK_K,), tl.float32)
    for tile_k in tl.range((K + BLOCK_K - 1) // BLOCK_K, num_stages=3):
        i_k = tile_k * BLOCK_K + tl.arange(0, BLOCK_K)
        in_k = (i_k < K) | (K % BLOCK_K == 0)
        x = tl.load(x_ptr + pid_m * K + i_k, mask=in_k, other=0.0, eviction_policy="evict_first")
        v = x * x
        acc += v
    acc_2 = tl.sum(acc, axis=0)
    v_2 = acc_2 / K
    tl.store(out_ptr + pid_m, v_2)


# mirage:end kernels
# mirage:begin launcher


SIZES = {"k": 20000, "m": 8}
TILES = {
    "main": {"m": 1, "k": 4096},
}


def _run(x, sizes=SIZES, tiles=TILES):
    """Allocates, launches and returns. Made for k=20000, m=8: raises ValueError for all else."""
    _refuse_others((_run, sizes, tiles), x)
    out = torch.empty((sizes["m"],), dtype=torch.float32, device=x.device)
    grid = (sizes["m"],)
    _rowsum_main[grid](
        x,
        out,
        K=sizes["k"],
        M=sizes["m"],
        BLOCK_K=tiles["main"]["k"],
        num_warps=4,
        num_stages=3,
    )
    return out


_EXPECTED = (
    ((8, 20000), torch.float32),  # x
)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_COMPILED = isinstance(_rowsum_main, triton.JITFunction)


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


def rowsum(x):
    if _fits(x):
        return _run(x)
    return _original_rowsum(x)


# mirage:end launcher
# mirage:begin original


def _original_rowsum(x):
    return (x * x).mean(-1)


# mirage:end original
# mirage:begin mugraph
# mugraph rowsum
# axes k=20000 m=8
# input x fp32 [m, k]
# output out fp32 [m]
# kernel main warps 4 stages 3:
#   block cluster 1:
#     dim m (m) grid tile 1
#     dim k (k) loop tile 4096
#     for k:
#       x[m, k] = load x[m, k]
#       v[m, k] = mul(x, x)
#       t[m] = sum(v; dim=k)
#       acc[m] += t
#     v_2[m] = thread:
#       size_k[] = size(axis=k)
#       v_2[m] = div(acc, size_k)
#     store out[m] = v_2
# mirage:end mugraph
