"""The triplet loss of a FaceNet-like embedding."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((8192, 512), "fp32"), ((8192, 512), "fp32"), ((8192, 512), "fp32")])
def triplet_margin(anchor, positive, negative):
    d_pos = (anchor - positive).pow(2).sum(1)
    d_neg = (anchor - negative).pow(2).sum(1)
    return F.relu(d_pos - d_neg + 0.2).mean()
