"""Log-softmax of rows."""

import torch

import mirage


@mirage.optimize(inputs=[((33, 500), "bf16")])
def log_softmax(x):
    return torch.log_softmax(x.float(), dim=-1).to(torch.bfloat16)
