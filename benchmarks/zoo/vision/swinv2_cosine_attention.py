"""Cosine attention of SwinV2-B: unit queries and keys, and a learned temperature for each head that is held below a hundred."""

import math

import torch.nn.functional as F

import mirage


@mirage.optimize(
    inputs=[
        ((256, 4, 64, 32), "fp16"),
        ((256, 4, 64, 32), "fp16"),
        ((256, 4, 64, 32), "fp16"),
        ((4, 1, 1), "fp16"),
        ((4, 64, 64), "fp16"),
    ]
)
def swinv2_cosine_attention(q, k, v, logit_scale, bias):
    attn = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
    attn = attn * logit_scale.clamp(max=math.log(100.0)).exp() + bias
    return attn.softmax(-1) @ v
