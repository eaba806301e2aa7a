"""The shared expert of Qwen1.5-MoE, gated by a sigmoid of the token."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((1, 2048), "bf16"), ((1, 2048), "bf16"), ((1, 2048), "bf16"), ((1, 2048), "bf16")],
        [((2048, 2048), "bf16"), ((2048, 2048), "bf16"), ((2048, 2048), "bf16"), ((1, 2048), "bf16")],
    ]
)
def shared_expert_gate(x, shared, routed, w):
    return routed + torch.sigmoid(F.linear(x, w)) * shared
