"""A projection whose weight is stored in 8-bit floats with a scale for each row, after an RMS norm (LLaMA-2-7B's shapes)."""

import torch
import torch.nn.functional as F
from jaxtyping import Float8e4m3fn, Float16
from torch import Tensor

import mirage


@mirage.optimize
def linear_w8(
    x: Float16[Tensor, "16 4096"],
    g: Float16[Tensor, "4096"],
    w: Float8e4m3fn[Tensor, "4096 4096"],
    s: Float16[Tensor, "4096"],
) -> Tensor:
    """RMS-normalize the rows of x, scale by g, project by w (out, in) times its rows' scales s."""
    return F.linear(F.rms_norm(x, (4096,), g, 1e-6), w.to(x.dtype)) * s


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(16, 4096, dtype=torch.float16)
    g = torch.ones(4096, dtype=torch.float16)
    w = torch.randn(4096, 4096) / 64
    s = w.abs().amax(-1) / 448
    print(linear_w8(x, g, (w / s[:, None]).to(torch.float8_e4m3fn), s.half()))
