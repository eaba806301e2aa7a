"""A softmax over rows that may hold anything that float16 holds."""

import torch
from jaxtyping import Float16
from torch import Tensor

import mirage


@mirage.optimize
def softmax(
    x: Float16[Tensor, "128 4096"],
) -> Tensor:
    """The softmax of each row."""
    return torch.softmax(x, dim=-1)


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(128, 4096, dtype=torch.float16) * 100
    print(softmax(x))
