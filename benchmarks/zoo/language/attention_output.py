"""Attention output of LLaMA-2-7B: heads are merged, projected, added to the residual."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"wo": ("weight", 1)}
FIXED = (4096,)


@mirage.optimize(
    inputs=[
        [((8, 32, 1, 128), "fp16"), ((8, 1, 4096), "fp16"), ((4096, 4096), "fp16")],
        [((1, 32, 2048, 128), "fp16"), ((1, 2048, 4096), "fp16"), ((4096, 4096), "fp16")],
    ]
)
def attention_output(attn, residual, wo):
    b, h, t, d = attn.shape
    merged = attn.transpose(1, 2).reshape(b, t, h * d)
    return residual + F.linear(merged, wo)
