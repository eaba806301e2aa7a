"""Causal attention by the library's call, at Phi-2's heads of 80."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((2, 32, 2048, 80), "fp16"), ((2, 32, 2048, 80), "fp16"), ((2, 32, 2048, 80), "fp16")])
def sdpa_causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
