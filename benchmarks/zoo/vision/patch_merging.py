"""Patch merging of Swin-T: four neighbours side by side, layer norm, projection to half."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}
FIXED = (384,)


@mirage.optimize(inputs=[((16, 56, 56, 96), "fp16"), ((384,), "fp16"), ((384,), "fp16"), ((192, 384), "fp16")])
def patch_merging(x, g, b, w):
    x = torch.cat((x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]), dim=-1)
    return F.linear(F.layer_norm(x, (x.shape[-1],), g, b), w)
