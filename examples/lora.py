"""A linear layer with a low-rank adapter, as in GPT-3-7B with LoRA of rank 16."""

import torch
from jaxtyping import Float16
from torch import Tensor

import mirage


@mirage.optimize
def lora(
    x: Float16[Tensor, "16 4096"],
    w: Float16[Tensor, "4096 4096"],
    a: Float16[Tensor, "4096 16"],
    b: Float16[Tensor, "16 4096"],
) -> Tensor:
    """x w + (x a) b."""
    return x @ w + (x @ a) @ b


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(16, 4096, dtype=torch.float16)
    w = torch.randn(4096, 4096, dtype=torch.float16) / 64
    a = torch.randn(4096, 16, dtype=torch.float16) / 64
    b = torch.randn(16, 4096, dtype=torch.float16) / 4
    print(lora(x, w, a, b))
