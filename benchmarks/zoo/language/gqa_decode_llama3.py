"""Decoding with grouped queries in LLaMA-3-8B: keys and values are repeated for the query heads."""

import torch

import mirage

FEW_ROWS = True


@mirage.optimize(
    inputs=[
        [((1, 32, 1, 128), "bf16"), ((1, 8, 8192, 128), "bf16"), ((1, 8, 8192, 128), "bf16")],
        [((16, 32, 1, 128), "bf16"), ((16, 8, 8192, 128), "bf16"), ((16, 8, 8192, 128), "bf16")],
    ]
)
def gqa_decode_llama3(q, k, v):
    groups = q.shape[1] // k.shape[1]
    k = k.repeat_interleave(groups, dim=1)
    v = v.repeat_interleave(groups, dim=1)
    scores = torch.matmul(q, k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    return torch.matmul(torch.softmax(scores.float(), dim=-1).to(v.dtype), v)
