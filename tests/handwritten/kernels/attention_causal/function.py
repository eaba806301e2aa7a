"""Causal attention."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((2, 130, 32), "fp16"), ((2, 130, 32), "fp16"), ((2, 130, 32), "fp16")])
def attention_causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
