"""Attention of ViT-L/14 without a mask, from a packed product."""

import mirage


@mirage.optimize(inputs=[((4, 257, 3, 16, 64), "fp16")])
def vit_attention(qkv):
    q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    attn = (q * 64**-0.5) @ k.transpose(-2, -1)
    x = attn.softmax(dim=-1) @ v
    return x.transpose(1, 2).flatten(2)
