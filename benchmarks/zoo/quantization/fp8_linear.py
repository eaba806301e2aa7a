"""A projection of LLaMA-3-8B with weights in eight-bit floats and a scale for each row."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w": ("normal", 64.0), "scale": ("positive", 0.0002)}


@mirage.optimize(
    inputs=[
        [((1, 4096), "bf16"), ((14336, 4096), "float8_e4m3fn"), ((14336,), "bf16")],
        [((512, 4096), "bf16"), ((14336, 4096), "float8_e4m3fn"), ((14336,), "bf16")],
    ]
)
def fp8_linear(x, w, scale):
    return F.linear(x, w.to(x.dtype)) * scale
