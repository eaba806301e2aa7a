import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[((4, 1024, 3), "fp32"), ((4, 1024, 3), "fp32"), ((4, 1024, 3), "fp32"), ((4, 1024, 3), "fp32")]
)
def chamfer_with_normals(x: Tensor, y: Tensor, nx: Tensor, ny: Tensor) -> Tensor:
    xx = x.pow(2).sum(-1)
    yy = y.pow(2).sum(-1)
    d = xx[:, :, None] + yy[:, None, :] - 2 * torch.bmm(x, y.transpose(1, 2))
    dx, ix = d.min(dim=2)
    dy, _ = d.min(dim=1)
    ny_near = torch.gather(ny, 1, ix.unsqueeze(-1).expand(-1, -1, 3))
    normal_term = 1 - F.cosine_similarity(nx, ny_near, dim=-1, eps=1e-6).abs()
    return dx.clamp(min=0).mean() + dy.clamp(min=0).mean() + 0.1 * normal_term.mean()
