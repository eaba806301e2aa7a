"""Rows of a table by their numbers."""

import torch
import triton
import triton.language as tl


@triton.jit
def gather_rows(ids_ptr, table_ptr, out_ptr, D, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    row = tl.load(ids_ptr + pid)
    d = tl.arange(0, BLOCK)
    x = tl.load(table_ptr + row * D + d, mask=d < D, other=0.0)
    tl.store(out_ptr + pid * D + d, x, mask=d < D)


def f(ids, table):
    out = torch.empty((ids.shape[0], table.shape[1]), device=table.device, dtype=table.dtype)
    gather_rows[(ids.shape[0],)](ids, table, out, table.shape[1], BLOCK=triton.next_power_of_2(table.shape[1]))
    return out
