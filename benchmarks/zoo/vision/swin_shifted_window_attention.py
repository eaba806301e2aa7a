"""Shifted window attention of Swin-B: windows of one image have masks of their own."""

import torch

import mirage

INPUTS = {"mask": ("uniform", -100.0, 0.0)}


@mirage.optimize(
    inputs=[
        ((128, 4, 49, 32), "fp16"),
        ((128, 4, 49, 32), "fp16"),
        ((128, 4, 49, 32), "fp16"),
        ((4, 49, 49), "fp16"),
        ((64, 49, 49), "fp16"),
    ]
)
def swin_shifted_window_attention(q, k, v, bias, mask):
    b, h, n, _ = q.shape
    attn = (q @ k.transpose(-2, -1)) * 32**-0.5 + bias
    attn = attn.view(b // mask.shape[0], mask.shape[0], h, n, n) + mask[None, :, None]
    return torch.softmax(attn.view(b, h, n, n), dim=-1) @ v
