"""A decoding step of Mamba's short convolution: four inputs are weighted, then SiLU."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True


@mirage.optimize(
    inputs=[
        [((1, 5120), "bf16"), ((1, 5120, 4), "bf16"), ((5120, 4), "bf16"), ((5120,), "bf16")],
        [((64, 5120), "bf16"), ((64, 5120, 4), "bf16"), ((5120, 4), "bf16"), ((5120,), "bf16")],
    ]
)
def causal_conv_step(x, window, weight, bias):
    window = torch.cat((window[..., 1:], x.unsqueeze(-1)), dim=-1)
    return F.silu((window * weight).sum(-1) + bias), window
