"""The mixture of experts' outputs for two tasks in MMoE."""

import torch

import mirage

INPUTS = {"w": ("weight", 2)}


@mirage.optimize(inputs=[((16384, 256), "fp32"), ((16384, 8, 128), "fp32"), ((2, 8, 256), "fp32")])
def mmoe_gates(x, experts, w):
    gates = torch.softmax(torch.einsum("bd,ted->bte", x, w), dim=-1)
    return gates @ experts
