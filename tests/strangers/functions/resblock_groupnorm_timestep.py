import math

import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[
        ((2, 64, 32, 32), "fp32"),
        ((2, 256), "fp32"),
        ((128, 256), "fp32"),
        ((64, 64, 3, 3), "fp32"),
        ((64, 64, 3, 3), "fp32"),
        ((64,), "fp32"),
        ((64,), "fp32"),
    ]
)
def resblock_groupnorm_timestep(
    x: Tensor, temb: Tensor, w_t: Tensor, conv1: Tensor, conv2: Tensor, gn_w: Tensor, gn_b: Tensor
) -> Tensor:
    h = F.conv2d(F.silu(F.group_norm(x, 32, gn_w, gn_b, eps=1e-5)), conv1, padding=1)
    scale, shift = F.linear(F.silu(temb), w_t)[:, :, None, None].chunk(2, dim=1)
    h = F.group_norm(h, num_groups=32) * (scale + 1) + shift
    h = F.conv2d(F.silu(h), conv2, padding="same")
    return (x + h) / math.sqrt(2.0)
