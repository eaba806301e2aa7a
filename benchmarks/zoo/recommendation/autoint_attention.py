"""The self-attention over fields of AutoInt, with a ReLU on the residual."""

import torch

import mirage

INPUTS = {"wq": ("weight", 0), "wk": ("weight", 0), "wv": ("weight", 0), "wr": ("weight", 0)}


@mirage.optimize(
    inputs=[((4096, 39, 32), "fp32"), ((32, 32), "fp32"), ((32, 32), "fp32"), ((32, 32), "fp32"), ((32, 32), "fp32")]
)
def autoint_attention(x, wq, wk, wv, wr):
    p = torch.softmax((x @ wq) @ (x @ wk).transpose(1, 2), dim=-1)
    return torch.relu(p @ (x @ wv) + x @ wr)
