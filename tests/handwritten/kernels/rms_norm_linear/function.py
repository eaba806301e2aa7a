"""RMS normalization and a linear layer."""

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((30, 200), "fp16"), ((200,), "fp16"), ((90, 200), "fp16")])
def rms_norm_linear(x, g, w):
    xf = x.float()
    normed = xf * torch.rsqrt(xf.square().mean(-1, keepdim=True) + 1e-5) * g.float()
    return F.linear(normed, w.float()).to(torch.float16)
