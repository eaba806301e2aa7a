import torch
from torch import Tensor

import mirage

ROT = 32


@mirage.optimize(inputs=[((4, 512, 16, 128), "fp16")])
def gptj_partial_rotary(x: Tensor) -> Tensor:
    rot, passthrough = x.split([ROT, x.size(-1) - ROT], dim=-1)
    theta = 1.0 / (10000 ** (torch.arange(0, ROT, 2, device=x.device) / ROT))
    angles = torch.outer(torch.arange(x.size(1), device=x.device).float(), theta)
    sin, cos = angles.sin()[None, :, None, :], angles.cos()[None, :, None, :]
    even, odd = rot.float().reshape(*rot.shape[:-1], -1, 2).unbind(dim=-1)
    rotated = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return torch.cat([rotated.flatten(-2).type_as(x), passthrough], dim=-1)
