"""The down projection of Mistral-7B: weights are made floating first, then multiplied."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"scale": ("positive", 0.0002)}


@mirage.optimize(
    inputs=[
        [((2, 14336), "bf16"), ((4096, 14336), "int8"), ((4096, 1), "bf16")],
        [((512, 14336), "bf16"), ((4096, 14336), "int8"), ((4096, 1), "bf16")],
    ]
)
def int8_dequantize_matmul(x, w, scale):
    return x @ (w.to(torch.bfloat16) * scale).t()
