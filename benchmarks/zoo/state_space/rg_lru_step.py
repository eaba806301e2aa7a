"""A step of the gated recurrence of RecurrentGemma-2B."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"a_param": ("uniform", -9.0, -4.0), "h": ("normal", 0.3)}


@mirage.optimize(
    inputs=[
        [((1, 2560), "fp32"), ((1, 2560), "fp32"), ((1, 2560), "fp32"), ((2560,), "fp32"), ((1, 2560), "fp32")],
        [((32, 2560), "fp32"), ((32, 2560), "fp32"), ((32, 2560), "fp32"), ((2560,), "fp32"), ((32, 2560), "fp32")],
    ]
)
def rg_lru_step(x, gate_x, gate_a, a_param, h):
    log_a = -8.0 * torch.sigmoid(gate_a) * F.softplus(a_param)
    a = torch.exp(log_a)
    return a * h + torch.sqrt(1 - torch.exp(2 * log_a)) * (torch.sigmoid(gate_x) * x)
