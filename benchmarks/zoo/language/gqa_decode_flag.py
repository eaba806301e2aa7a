"""Decoding with grouped queries in Qwen2.5-7B by the library's own flag."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True


@mirage.optimize(
    inputs=[
        [((1, 28, 1, 128), "bf16"), ((1, 4, 16384, 128), "bf16"), ((1, 4, 16384, 128), "bf16")],
        [((8, 28, 1, 128), "bf16"), ((8, 4, 16384, 128), "bf16"), ((8, 4, 16384, 128), "bf16")],
    ]
)
def gqa_decode_flag(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
