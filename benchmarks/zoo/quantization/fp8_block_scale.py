"""Activations of DeepSeek-V3 in eight-bit floats with a scale for each 128 numbers of a token."""

import torch

import mirage

FIXED = (7168,)


@mirage.optimize(inputs=[((2048, 7168), "bf16")])
def fp8_block_scale(x):
    blocks = x.view(x.shape[0], -1, 128).float()
    scale = blocks.abs().amax(dim=2, keepdim=True).clamp(min=1e-4) / 448.0
    return (blocks / scale).to(torch.float8_e4m3fn).view_as(x), scale.squeeze(2)
