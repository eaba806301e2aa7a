import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((4, 64, 32, 32), "fp32"), ((512, 64), "fp32")])
def vq_codebook_straight_through(z: Tensor, codebook: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    zp = z.permute(0, 2, 3, 1).contiguous()
    flat = zp.view(-1, codebook.shape[1])
    d = flat.pow(2).sum(1, keepdim=True) + codebook.pow(2).sum(1) - 2 * flat @ codebook.t()
    idx = torch.argmin(d, dim=1)
    zq = F.embedding(idx, codebook).view(zp.shape)
    loss = 0.25 * F.mse_loss(zq.detach(), zp) + F.mse_loss(zq, zp.detach())
    usage = torch.bincount(idx, minlength=512).float() / idx.numel()
    perplexity = torch.exp(-torch.sum(usage * torch.log(usage + 1e-10)))
    zq = zp + (zq - zp).detach()
    return zq.permute(0, 3, 1, 2), loss, perplexity, idx
