"""Queries and keys of Qwen3-8B are normalized by head, turned, and attended."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"cos": ("cos",), "sin": ("sin",)}


def turn(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


@mirage.optimize(
    inputs=[
        ((1, 32, 1, 128), "bf16"),
        ((1, 32, 4096, 128), "bf16"),
        ((1, 32, 4096, 128), "bf16"),
        ((128,), "bf16"),
        ((128,), "bf16"),
        ((4096, 128), "bf16"),
        ((4096, 128), "bf16"),
    ]
)
def qk_norm_rotary_attention(q, k, v, gq, gk, cos, sin):
    q = turn(F.rms_norm(q, (q.shape[-1],), gq, 1e-6), cos[-1:], sin[-1:])
    k = turn(F.rms_norm(k, (k.shape[-1],), gk, 1e-6), cos, sin)
    return F.scaled_dot_product_attention(q, k, v)
