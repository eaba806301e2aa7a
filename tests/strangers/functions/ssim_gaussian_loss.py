import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((4, 3, 128, 128), "fp32"), ((4, 3, 128, 128), "fp32")])
def ssim_gaussian_loss(x: Tensor, y: Tensor) -> Tensor:
    c1, c2, size, sigma = 0.01**2, 0.03**2, 11, 1.5
    g = torch.arange(size, dtype=x.dtype, device=x.device) - size // 2
    g = torch.exp(-(g**2) / (2 * sigma**2))
    g = g / g.sum()
    k = torch.outer(g, g).expand(3, 1, size, size)
    blur = lambda t: F.conv2d(t, k, padding=size // 2, groups=3)
    mx, my = blur(x), blur(y)
    sx = blur(x * x) - mx.square()
    sy = blur(y * y) - my.square()
    sxy = blur(x * y) - mx * my
    ssim = ((2 * mx * my + c1) * (2 * sxy + c2)) / ((mx**2 + my**2 + c1) * (sx + sy + c2))
    return torch.clamp((1 - ssim) / 2, 0, 1).mean()
