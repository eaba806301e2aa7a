"""Causal attention: each token sees itself and those before it."""

import torch
import torch.nn.functional as F
from jaxtyping import Float16
from torch import Tensor

import mirage


@mirage.optimize
def causal_attention(
    q: Float16[Tensor, "8 1024 64"],
    k: Float16[Tensor, "8 1024 64"],
    v: Float16[Tensor, "8 1024 64"],
) -> Tensor:
    """Attention of (heads, tokens, d) where row i sees the keys 0 to i."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


if __name__ == "__main__":
    torch.manual_seed(0)
    q, k, v = (torch.randn(8, 1024, 64, dtype=torch.float16) for _ in range(3))
    print(causal_attention(q, k, v))
