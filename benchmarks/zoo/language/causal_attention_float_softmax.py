"""Causal attention of LLaMA-2-7B, its softmax in float32 and an additive mask."""

import math

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"mask": ("causal",)}


@mirage.optimize(
    inputs=[
        ((1, 32, 2048, 128), "bf16"),
        ((1, 32, 2048, 128), "bf16"),
        ((1, 32, 2048, 128), "bf16"),
        ((1, 1, 2048, 2048), "bf16"),
    ]
)
def causal_attention_float_softmax(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.shape[-1]) + mask
    probs = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(probs, v)
