"""Prefill with grouped queries in LLaMA-3-8B, whose heads are expanded as a view."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((1, 32, 2048, 128), "bf16"), ((1, 8, 2048, 128), "bf16"), ((1, 8, 2048, 128), "bf16")])
def gqa_prefill_expand(q, k, v):
    b, h, n, d = k.shape
    k = k[:, :, None].expand(b, h, q.shape[1] // h, n, d).reshape(b, -1, n, d)
    v = v[:, :, None].expand(b, h, q.shape[1] // h, n, d).reshape(b, -1, n, d)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
