"""The mixture of a token with the one before it in RWKV-4-7B, and the key's and receptance's products."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"mix_k": ("uniform",), "mix_r": ("uniform",), "wk": ("weight", 1), "wr": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [
            ((1, 4096), "fp16"),
            ((1, 4096), "fp16"),
            ((4096,), "fp16"),
            ((4096,), "fp16"),
            ((4096, 4096), "fp16"),
            ((4096, 4096), "fp16"),
        ],
        [
            ((16, 4096), "fp16"),
            ((16, 4096), "fp16"),
            ((4096,), "fp16"),
            ((4096,), "fp16"),
            ((4096, 4096), "fp16"),
            ((4096, 4096), "fp16"),
        ],
    ]
)
def rwkv_time_mix(x, last, mix_k, mix_r, wk, wr):
    k = F.linear(x * mix_k + last * (1 - mix_k), wk)
    r = torch.sigmoid(F.linear(x * mix_r + last * (1 - mix_r), wr))
    return k, r
