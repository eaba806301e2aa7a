import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[
        ((4, 96, 28, 28), "fp32"),
        ((96, 1, 7, 7), "fp32"),
        ((96,), "fp32"),
        ((96,), "fp32"),
        ((384, 96), "fp32"),
        ((384,), "fp32"),
        ((96, 384), "fp32"),
        ((96,), "fp32"),
    ]
)
def convnext_block_nhwc(
    x: Tensor, dw: Tensor, ln_w: Tensor, ln_b: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, gamma: Tensor
) -> Tensor:
    y = F.conv2d(x, dw, bias=None, stride=1, padding=3, groups=x.size(1))
    y = y.movedim(1, -1)
    y = F.layer_norm(y, (96,), ln_w, ln_b, 1e-6)
    y = F.gelu(F.linear(y, w1, b1))
    gx = torch.norm(y, p=2, dim=(1, 2), keepdim=True)
    y = y * (gx / (gx.mean(dim=-1, keepdim=True) + 1e-6)) + y
    y = gamma * F.linear(y, w2)
    return x + y.movedim(-1, 1)
