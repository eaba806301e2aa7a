"""Layer norm and the projection after it. Its variance must survive a mean far from zero."""

import torch
import torch.nn.functional as F
from jaxtyping import Float16
from torch import Tensor

import mirage


@mirage.optimize
def layernorm_linear(
    x: Float16[Tensor, "16 4096"],
    g: Float16[Tensor, "4096"],
    b: Float16[Tensor, "4096"],
    w: Float16[Tensor, "4096 4096"],
) -> Tensor:
    """Normalize the rows of x to mean 0 and variance 1, scale and shift, project by w (out, in)."""
    return F.linear(F.layer_norm(x, (4096,), g, b, 1e-5), w)


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(16, 4096, dtype=torch.float16)
    g, b = torch.ones(4096, dtype=torch.float16), torch.zeros(4096, dtype=torch.float16)
    w = torch.randn(4096, 4096, dtype=torch.float16) / 64
    print(layernorm_linear(x, g, b, w))
