"""A step of RWKV-4's weighted average, its sums kept at the largest exponent."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"den": ("positive",), "decay": ("uniform", -5.0, -0.1)}


@mirage.optimize(
    inputs=[
        [
            ((1, 4096), "fp32"),
            ((1, 4096), "fp32"),
            ((4096,), "fp32"),
            ((4096,), "fp32"),
            ((1, 4096), "fp32"),
            ((1, 4096), "fp32"),
            ((1, 4096), "fp32"),
        ],
        [
            ((32, 4096), "fp32"),
            ((32, 4096), "fp32"),
            ((4096,), "fp32"),
            ((4096,), "fp32"),
            ((32, 4096), "fp32"),
            ((32, 4096), "fp32"),
            ((32, 4096), "fp32"),
        ],
    ]
)
def rwkv_wkv_step(k, v, decay, first, num, den, top):
    m = torch.maximum(top, first + k)
    old, new = torch.exp(top - m), torch.exp(first + k - m)
    out = (old * num + new * v) / (old * den + new)
    m = torch.maximum(top + decay, k)
    old, new = torch.exp(top + decay - m), torch.exp(k - m)
    return out, old * num + new * v, old * den + new, m
