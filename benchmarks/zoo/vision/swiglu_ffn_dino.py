"""The packed SwiGLU of DINOv2-g."""

import torch.nn.functional as F

import mirage

INPUTS = {"w12": ("weight", 1), "w3": ("weight", 1)}
FIXED = (8192, 4096)


@mirage.optimize(
    inputs=[
        ((2740, 1536), "bf16"),
        ((8192, 1536), "bf16"),
        ((8192,), "bf16"),
        ((1536, 4096), "bf16"),
        ((1536,), "bf16"),
    ]
)
def swiglu_ffn_dino(x, w12, b12, w3, b3):
    x1, x2 = F.linear(x, w12, b12).chunk(2, dim=-1)
    return F.linear(F.silu(x1) * x2, w3, b3)
