# mirage:begin header
# formula: out[m, n] = sum_k(x[m,k] w_gate[k,n]) sigmoid(sum_k(x[m,k] w_gate[k,n])) sum_k(x[m,k] w_up[k,n])
# laws: split of a reduction
# tiles: main: k_part in 2 parts, m whole (16), n by 64 (64 blocks), k in a loop by 256 (8 steps); 4 warps, 3 stages
# made by: mirage
# program: c2dc7b1647562c34
# verdict: TESTED (bound 5.9e-39)
# time: 19.8 us estimated for H200, 30.2 us as written
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
def _gated_mlp_main(
    x_ptr,
    w_gate_ptr,
    w_up_ptr,
    out_part0_ptr,
    out_part1_ptr,
    out_ptr,
    counters_ptr,
    K: tl.constexpr,
    K_PART: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    PARTS_K_PART: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    TAIL_BLOCK_K_PART: tl.constexpr,
):
    pid = tl.program_id(0)
    blocks_n: tl.constexpr = (N + BLOCK_N - 1) // BLOCK_N
    pid_n = pid % blocks_n
    pid_k_part = pid // blocks_n
    i_m = tl.arange(0, BLOCK_M)
    in_m = (i_m < M) | (M % BLOCK_M == 0)
    i_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    in_n = (i_n < N) | (N % BLOCK_N == 0)
    acc = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
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
        )
        w_gate = tl.load(
            w_gate_ptr + i_k[:, None] * N + i_n[None, :],
            mask=in_k[:, None] & in_n[None, :],
            other=0.0,
            eviction_policy="evict_first",
        )
        acc = tl.dot(tl.trans(w_gate), tl.trans(x), acc)
        w_up = tl.load(
            w_up_ptr + i_k[:, None] * N + i_n[None, :],
            mask=in_k[:, None] & in_n[None, :],
            other=0.0,
            eviction_policy="evict_first",
        )
        acc_2 = tl.dot(tl.trans(w_up), tl.trans(x), acc_2)
    tl.store(
        out_part0_ptr + i_n[:, None] * (K_PART * M) + pid_k_part * M + i_m[None, :],
        acc,
        mask=in_n[:, None] & in_m[None, :],
    )
    tl.store(
        out_part1_ptr + i_n[:, None] * (K_PART * M) + pid_k_part * M + i_m[None, :],
        acc_2,
        mask=in_n[:, None] & in_m[None, :],
    )

    # The last block of a group to arrive combines what its blocks have stored.
    tl.debug_barrier()
    group = pid_n
    arrived = tl.atomic_add(counters_ptr + group, 1, sem="acq_rel")
    if arrived == PARTS_K_PART - 1:
        tl.debug_barrier()
        i_k_part = tl.arange(0, TAIL_BLOCK_K_PART)
        in_k_part = (i_k_part < K_PART) | (K_PART % TAIL_BLOCK_K_PART == 0)
        out_part0 = tl.load(
            out_part0_ptr + i_n[:, None, None] * (K_PART * M) + i_k_part[None, :, None] * M + i_m[None, None, :],
            mask=in_n[:, None, None] & in_k_part[None, :, None] & in_m[None, None, :],
            other=0.0,
        )
        t = tl.sum(out_part0, axis=1)
        out_part1 = tl.load(
            out_part1_ptr + i_n[:, None, None] * (K_PART * M) + i_k_part[None, :, None] * M + i_m[None, None, :],
            mask=in_n[:, None, None] & in_k_part[None, :, None] & in_m[None, None, :],
            other=0.0,
        )
        t_2 = tl.sum(out_part1, axis=1)
        sigmoid = tl.sigmoid(t)
        v = t * t_2 * sigmoid
        tl.store(
            out_ptr + i_m[None, :] * N + i_n[:, None],
            v.to(out_ptr.dtype.element_ty),
            mask=in_m[None, :] & in_n[:, None],
        )
        tl.store(counters_ptr + group, 0)


# mirage:end kernels
# mirage:begin launcher


SIZES = {"k": 4096, "k_part": 2, "m": 8, "n": 4096}
TILES = {
    "main": {"k_part": 2, "m": 16, "n": 64, "k": 256},
    "main.tail": {"k_part": 2},
}


_ZEROED = {}


def _counters(count, device):
    """Counters at zero; the last block of each group sets its own back to zero.

    Launches that may overlap share none: each stream has its own, and so has each call inside a CUDA graph.
    """
    if device.type != "cuda":
        return torch.zeros(count, dtype=torch.int32, device=device)
    count = -(-count // 32) * 32
    capturing = torch.cuda.is_current_stream_capturing()
    key = (device, torch.cuda.current_stream(device).cuda_stream, count)
    if key in _ZEROED and not capturing:
        return _ZEROED[key]
    spare = _ZEROED.pop(device, None)
    if spare is None or len(spare) < count:
        if capturing:  # the graph zeroes them whenever it is replayed
            return torch.zeros(count, dtype=torch.int32, device=device)
        spare = torch.zeros(max(count, 1 << 18), dtype=torch.int32, device=device)
        torch.cuda.current_stream(device).synchronize()  # other streams take from it too
    _ZEROED[device] = spare[count:]
    if not capturing:
        _ZEROED[key] = spare[:count]
    return spare[:count]


def _run(x, w_gate, w_up, sizes=SIZES, tiles=TILES):
    """Allocates, launches and returns. Made for k=4096, k_part=2, m=8, n=4096: raises ValueError for all else."""
    _refuse_others((_run, sizes, tiles), x, w_gate, w_up)
    out_part0 = torch.empty((sizes["n"], sizes["k_part"], sizes["m"]), dtype=torch.float32, device=x.device)
    out_part1 = torch.empty((sizes["n"], sizes["k_part"], sizes["m"]), dtype=torch.float32, device=x.device)
    out = torch.empty((sizes["m"], sizes["n"]), dtype=torch.float16, device=x.device)
    groups = -(-sizes["n"] // tiles["main"]["n"])
    counters = _counters(groups, x.device)
    grid = (tiles["main"]["k_part"] * -(-sizes["n"] // tiles["main"]["n"]),)
    _gated_mlp_main[grid](
        x,
        w_gate,
        w_up,
        out_part0,
        out_part1,
        out,
        counters,
        K=sizes["k"],
        K_PART=sizes["k_part"],
        M=sizes["m"],
        N=sizes["n"],
        PARTS_K_PART=tiles["main"]["k_part"],
        BLOCK_M=tiles["main"]["m"],
        BLOCK_N=tiles["main"]["n"],
        BLOCK_K=tiles["main"]["k"],
        TAIL_BLOCK_K_PART=tiles["main.tail"]["k_part"],
        num_warps=4,
        num_stages=3,
    )
    return out


_EXPECTED = (
    ((8, 4096), torch.float16),  # x
    ((4096, 4096), torch.float16),  # w_gate
    ((4096, 4096), torch.float16),  # w_up
)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_COMPILED = isinstance(_gated_mlp_main, triton.JITFunction)


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


def gated_mlp(x, w_gate, w_up):
    """Project x twice, and gate one projection by the SiLU of the other."""
    if _fits(x, w_gate, w_up):
        return _run(x, w_gate, w_up)
    return _original_gated_mlp(x, w_gate, w_up)


# mirage:end launcher
# mirage:begin original


def _original_gated_mlp(
    x,
    w_gate,
    w_up,
):
    """Project x twice, and gate one projection by the SiLU of the other."""
    return F.silu(x @ w_gate) * (x @ w_up)


# mirage:end original
# mirage:begin mugraph
# mugraph gated_mlp
# axes k=4096 k_part=2 m=8 n=4096
# input x fp16 [m, k]
# input w_gate fp16 [k, n]
# input w_up fp16 [k, n]
# temp out_part0 fp32 [n, k_part, m]
# temp out_part1 fp32 [n, k_part, m]
# output out fp16 [m, n]
# kernel main warps 4 stages 3:
#   block cluster 1:
#     dim k_part (k_part) split tile 1 splits k parts 2
#     dim m (m) resident tile 16
#     dim n (n) grid tile 64
#     dim k (k) loop tile 256
#     for k:
#       x[m, k] = load x[m, k]
#       w_gate[n, k] = load w_gate[k, n]
#       t[n, m] = dot(x, w_gate; dim=k)
#       acc[n, m] += t
#       w_up[n, k] = load w_up[k, n]
#       t_2[n, m] = dot(x, w_up; dim=k)
#       acc_2[n, m] += t_2
#     store out_part0[n, k_part, m] = acc
#     store out_part1[n, k_part, m] = acc_2
#   tail cluster 1:
#     dim m (m) resident tile 16
#     dim n (n) grid tile 64
#     dim k_part (k_part) resident tile 2
#     out_part0[n, k_part, m] = load out_part0[n, k_part, m]
#     t[n, m] = sum(out_part0; dim=k_part)
#     out_part1[n, k_part, m] = load out_part1[n, k_part, m]
#     t_2[n, m] = sum(out_part1; dim=k_part)
#     v[n, m] = thread:
#       sigmoid[n, m] = sigmoid(t)
#       v[n, m] = mul(t, t_2, sigmoid)
#     store out[m, n] = v
# mirage:end mugraph
