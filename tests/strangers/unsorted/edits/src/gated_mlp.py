"""A gated MLP, as in Falcon-7B: two projections of one input, and a gate."""

import torch
import torch.nn.functional as F
from jaxtyping import Float16
from torch import Tensor

import mirage


@mirage.optimize
def gated_mlp(
    x: Float16[Tensor, "8 4096"],
    w_gate: Float16[Tensor, "4096 4096"],
    w_up: Float16[Tensor, "4096 4096"],
) -> Tensor:
    """Project x twice, and gate one projection by the SiLU of the other."""
    return F.silu(x @ w_gate) * (x @ w_up)


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(8, 4096, dtype=torch.float16)
    w_gate, w_up = (torch.randn(4096, 4096, dtype=torch.float16) / 64 for _ in range(2))
    print(gated_mlp(x, w_gate, w_up))
