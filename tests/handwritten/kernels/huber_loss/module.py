"""Mean Huber loss in two kernels: sums of blocks, then the sum of those."""

import torch
import triton
import triton.language as tl


@triton.jit
def block_sums(p_ptr, t_ptr, part_ptr, n, DELTA: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(p_ptr + i, mask=i < n, other=0.0)
    t = tl.load(t_ptr + i, mask=i < n, other=0.0)
    e = tl.abs(p - t)
    loss = tl.where(e < DELTA, 0.5 * e * e, DELTA * (e - 0.5 * DELTA))
    tl.store(part_ptr + pid, tl.sum(loss, axis=0))


@triton.jit
def finish(part_ptr, out_ptr, parts, n, PARTS: tl.constexpr):
    i = tl.arange(0, PARTS)
    s = tl.sum(tl.load(part_ptr + i, mask=i < parts, other=0.0), axis=0)
    tl.store(out_ptr, s / n)


def huber_loss(prediction, target):
    n = prediction.numel()
    BLOCK = 512
    parts = triton.cdiv(n, BLOCK)
    partial = torch.empty(parts, device=prediction.device, dtype=torch.float32)
    out = torch.empty((), device=prediction.device, dtype=torch.float32)
    block_sums[(parts,)](prediction, target, partial, n, DELTA=1.5, BLOCK=BLOCK)
    finish[(1,)](partial, out, parts, n, PARTS=triton.next_power_of_2(parts))
    return out
