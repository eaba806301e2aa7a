"""A scaled residual through tensor descriptors that the kernel makes."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, branch_ptr, gamma_ptr, out_ptr, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, shape=[rows, cols], strides=[cols, 1], block_shape=[BM, BN])
    branch_desc = tl.make_tensor_descriptor(branch_ptr, shape=[rows, cols], strides=[cols, 1], block_shape=[BM, BN])
    out_desc = tl.make_tensor_descriptor(out_ptr, shape=[rows, cols], strides=[cols, 1], block_shape=[BM, BN])
    row = tl.program_id(0) * BM
    for col in range(0, cols, BN):
        at = col + tl.arange(0, BN)
        gamma = tl.load(gamma_ptr + at, mask=at < cols, other=0.0)
        value = x_desc.load([row, col]) + branch_desc.load([row, col]) * gamma[None, :]
        out_desc.store([row, col], value)


def layer_scale_descriptor(x, branch, gamma):
    def memory(size, alignment, stream):
        return torch.empty(size, dtype=torch.int8, device=x.device)

    triton.set_allocator(memory)
    out = torch.empty_like(x)
    rows, cols = x.shape
    scale_kernel[(triton.cdiv(rows, 32),)](x, branch, gamma, out, rows, cols, BM=32, BN=64)
    return out
