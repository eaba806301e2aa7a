"""The gated half of an MLP: silu(x w1) times x w3."""

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((16, 2048), "bf16"), ((2048, 1024), "bf16"), ((2048, 1024), "bf16")])
def gated_mlp(x, w1, w3):
    return (F.silu(x.float() @ w1.float()) * (x.float() @ w3.float())).to(torch.bfloat16)
