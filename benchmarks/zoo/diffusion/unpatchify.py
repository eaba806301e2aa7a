"""The last product of DiT-XL/2 and its patches laid out as an image."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}


@mirage.optimize(inputs=[((8, 256, 1152), "fp16"), ((32, 1152), "fp16"), ((32,), "fp16")])
def unpatchify(x, w, b):
    y = F.linear(x, w, b)
    n, t, _ = y.shape
    s = int(t**0.5)
    y = y.view(n, s, s, 2, 2, 8)
    return torch.einsum("nhwpqc->nchpwq", y).reshape(n, 8, s * 2, s * 2)
