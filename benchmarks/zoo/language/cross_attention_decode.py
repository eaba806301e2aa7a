"""Cross-attention of BART-large for one new token over the encoder's 1024 states."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"mask": ("mask", 0.9)}


@mirage.optimize(
    inputs=[
        [((1, 16, 1, 64), "fp16"), ((1, 16, 1024, 64), "fp16"), ((1, 16, 1024, 64), "fp16"), ((1, 1, 1, 1024), "fp16")],
        [
            ((32, 16, 1, 64), "fp16"),
            ((32, 16, 1024, 64), "fp16"),
            ((32, 16, 1024, 64), "fp16"),
            ((32, 1, 1, 1024), "fp16"),
        ],
    ]
)
def cross_attention_decode(q, k, v, mask):
    scores = (q * 0.125) @ k.transpose(-1, -2) + (1 - mask) * -1e4
    return F.softmax(scores, dim=-1) @ v
