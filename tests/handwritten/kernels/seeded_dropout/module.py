"""Dropout with given random numbers."""

import torch
import triton
import triton.language as tl


@triton.jit
def _dropout(x_ptr, r_ptr, output_ptr, n_elements, p, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.load(r_ptr + offsets, mask=mask) > p
    output = tl.where(keep, x / (1 - p), 0.0)
    tl.store(output_ptr + offsets, output, mask=mask)


def seeded_dropout(x, r):
    output = torch.empty_like(x)
    assert x.is_contiguous() and r.is_contiguous()
    n_elements = x.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    _dropout[grid](x, r, output, n_elements, 0.25, BLOCK_SIZE=512)
    return output
