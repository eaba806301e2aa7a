import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((1024, 4), "fp32"), ((1024, 3), "fp32"), ((1024, 64, 3), "fp32")])
def quaternion_rotate_translate(quat: Tensor, trans: Tensor, pts: Tensor) -> Tensor:
    quat = F.normalize(quat, p=2.0, dim=-1, eps=1e-8)
    w, xyz = quat[:, :1], quat[:, 1:]
    u = xyz.unsqueeze(1).expand_as(pts)
    t = 2.0 * torch.cross(u, pts, dim=-1)
    return pts + w.unsqueeze(1) * t + torch.cross(u, t, dim=-1) + trans[:, None]
