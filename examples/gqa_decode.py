"""Grouped-query attention for one new token, as in LLaMA-3-70B over four GPUs: 2 key heads, 8 query heads each."""

import torch
from jaxtyping import Float16
from torch import Tensor

import mirage


@mirage.optimize
def gqa_decode(
    q: Float16[Tensor, "2 8 128"],
    k: Float16[Tensor, "2 8192 128"],
    v: Float16[Tensor, "2 8192 128"],
) -> Tensor:
    """Attention of the 8 query heads of each key head, (key heads, query heads, d), over (key heads, keys, d)."""
    scores = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    return torch.softmax(scores, dim=-1) @ v


if __name__ == "__main__":
    torch.manual_seed(0)
    q = torch.randn(2, 8, 128, dtype=torch.float16)
    k, v = (torch.randn(2, 8192, 128, dtype=torch.float16) for _ in range(2))
    print(gqa_decode(q, k, v))
