"""Max pooling by windows of four: a tile of windows by positions, and a maximum over the positions."""

import torch
import triton
import triton.language as tl


@triton.jit
def max_pool_kernel(x_ptr, y_ptr, n_windows, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    w = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, WINDOW)
    ptrs = x_ptr + row * n_windows * WINDOW + w[:, None] * WINDOW + k[None, :]
    x = tl.load(ptrs, mask=w[:, None] < n_windows, other=float("-inf"))
    tl.store(y_ptr + row * n_windows + w, tl.max(x, axis=1), mask=w < n_windows)


def max_pool(x):
    rows, cols = x.shape
    windows = cols // 4
    y = torch.empty((rows, windows), device=x.device, dtype=x.dtype)
    max_pool_kernel[(rows, triton.cdiv(windows, 64))](x, y, windows, WINDOW=4, BLOCK=64)
    return y
