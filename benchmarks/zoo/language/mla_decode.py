"""Decoding with a latent cache in DeepSeek-V2: heads share a key of 512 numbers and 64 turned ones."""

import torch

import mirage

FEW_ROWS = True
FIXED = (512,)


@mirage.optimize(
    inputs=[
        [((1, 128, 512), "bf16"), ((1, 128, 64), "bf16"), ((1, 4096, 512), "bf16"), ((1, 4096, 64), "bf16")],
        [((16, 128, 512), "bf16"), ((16, 128, 64), "bf16"), ((16, 4096, 512), "bf16"), ((16, 4096, 64), "bf16")],
    ]
)
def mla_decode(q_latent, q_rope, c, k_rope):
    scores = q_latent @ c.transpose(1, 2) + q_rope @ k_rope.transpose(1, 2)
    p = torch.softmax(scores * (128 + 64) ** -0.5, dim=-1, dtype=torch.float32)
    return p.to(c.dtype) @ c
