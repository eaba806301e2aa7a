"""Decoding in LLaMA-2-7B over a cache of eight bits with a scale for each token and head."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"k_scale": ("positive", 0.01), "v_scale": ("positive", 0.01)}


@mirage.optimize(
    inputs=[
        [
            ((1, 32, 1, 128), "fp16"),
            ((1, 32, 4096, 128), "int8"),
            ((1, 32, 4096, 128), "int8"),
            ((1, 32, 4096, 1), "fp16"),
            ((1, 32, 4096, 1), "fp16"),
        ],
        [
            ((8, 32, 1, 128), "fp16"),
            ((8, 32, 4096, 128), "int8"),
            ((8, 32, 4096, 128), "int8"),
            ((8, 32, 4096, 1), "fp16"),
            ((8, 32, 4096, 1), "fp16"),
        ],
    ]
)
def kv_cache_int8_decode(q, k, v, k_scale, v_scale):
    k = k.to(q.dtype) * k_scale
    v = v.to(q.dtype) * v_scale
    return F.scaled_dot_product_attention(q, k, v)
