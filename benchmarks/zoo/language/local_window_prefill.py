"""A local layer of Gemma-3-4B at prefill: grouped queries, a scale of 1/16, and a window of 1024 tokens as an additive mask."""

import torch

import mirage

INPUTS = {"mask": ("causal", 1024)}


@mirage.optimize(
    inputs=[
        ((1, 8, 4096, 256), "bf16"),
        ((1, 4, 4096, 256), "bf16"),
        ((1, 4, 4096, 256), "bf16"),
        ((4096, 4096), "bf16"),
    ]
)
def local_window_prefill(q, k, v, mask):
    b, h, n, d = q.shape
    q = q.reshape(b, k.shape[1], -1, n, d)
    scores = torch.einsum("bgrid,bgjd->bgrij", q, k) * 0.0625 + mask
    probs = scores.float().softmax(dim=-1).to(v.dtype)
    return torch.einsum("bgrij,bgjd->bgrid", probs, v).reshape(b, h, n, d)
