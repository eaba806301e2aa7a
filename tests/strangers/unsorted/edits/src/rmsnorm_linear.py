"""RMS norm and the projection after it, as in LLaMA-2-7B. The division by the norm commutes with the contraction."""

import torch
import torch.nn.functional as F
from jaxtyping import Float16
from torch import Tensor

import mirage


@mirage.optimize
def rmsnorm_linear(
    x: Float16[Tensor, "16 4096"],
    g: Float16[Tensor, "4096"],
    w: Float16[Tensor, "4096 4096"],
) -> Tensor:
    """RMS-normalize the rows of x, scale by g, project by w (out, in)."""
    return F.linear(F.rms_norm(x, (4096,), g, 1e-6), w)


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(16, 4096, dtype=torch.float16)
    g = torch.ones(4096, dtype=torch.float16)
    w = torch.randn(4096, 4096, dtype=torch.float16) / 64
    print(rmsnorm_linear(x, g, w))
