"""The normalized step of nGPT: move x towards the normalized h, and normalize the result."""

import torch
from jaxtyping import Float16
from torch import Tensor

import mirage


def unit(t: Tensor) -> Tensor:
    """The rows of t at length one; the length in float32."""
    return t / t.float().pow(2).sum(-1, keepdim=True).sqrt().to(t.dtype)


@mirage.optimize
def ntrans(
    x: Float16[Tensor, "16 4096"],
    h: Float16[Tensor, "16 4096"],
    alpha: Float16[Tensor, "16 4096"],
) -> Tensor:
    """normalize(x + alpha * (normalize(h) - x)), row by row."""
    return unit(x + alpha * (unit(h) - x))


if __name__ == "__main__":
    torch.manual_seed(0)
    x, h = (torch.randn(16, 4096, dtype=torch.float16) for _ in range(2))
    alpha = torch.rand(16, 4096, dtype=torch.float16)
    print(ntrans(x, h, alpha))
