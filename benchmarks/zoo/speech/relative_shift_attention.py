"""The scores of Transformer-XL's relative positions in a Conformer, shifted so that a column means a distance."""

import torch
import torch.nn.functional as F

import mirage

FIXED = (375, 749)


@mirage.optimize(
    inputs=[
        ((4, 8, 375, 64), "fp16"),
        ((4, 8, 375, 64), "fp16"),
        ((8, 749, 64), "fp16"),
        ((8, 64), "fp16"),
        ((8, 64), "fp16"),
    ]
)
def relative_shift_attention(q, k, p, u, v):
    content = (q + u[:, None]) @ k.transpose(-2, -1)
    position = (q + v[:, None]) @ p.transpose(-2, -1)
    b, h, n, m = position.shape
    position = F.pad(position, (1, 0)).view(b, h, m + 1, n)[:, :, 1:].reshape(b, h, n, m)[..., :n]
    return torch.softmax((content + position) / 64**0.5, dim=-1)
