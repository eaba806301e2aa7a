"""The middle of a Stable Diffusion residual block: the time's vector is added to each channel, then group norm and SiLU."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((2, 640, 32, 32), "fp16"), ((2, 640), "fp16"), ((640,), "fp16"), ((640,), "fp16")])
def resnet_time_bias(h, emb, weight, bias):
    h = h + emb[:, :, None, None]
    return F.silu(F.group_norm(h, 32, weight, bias, eps=1e-5))
