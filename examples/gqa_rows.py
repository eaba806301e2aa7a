"""Grouped-query attention over 256 rows a key head, the keys already transposed and no scale."""

import torch
from jaxtyping import Float16
from torch import Tensor

import mirage


@mirage.optimize
def gqa_rows(
    q: Float16[Tensor, "2 256 64"],
    k: Float16[Tensor, "2 64 4096"],
    v: Float16[Tensor, "2 4096 64"],
) -> Tensor:
    """Attention of q (key heads, rows, d) over k (key heads, d, keys) and v (key heads, keys, d)."""
    return torch.softmax(q @ k, dim=-1) @ v


if __name__ == "__main__":
    torch.manual_seed(0)
    q = torch.randn(2, 256, 64, dtype=torch.float16)
    k = torch.randn(2, 64, 4096, dtype=torch.float16)
    v = torch.randn(2, 4096, 64, dtype=torch.float16)
    print(gqa_rows(q, k, v))
