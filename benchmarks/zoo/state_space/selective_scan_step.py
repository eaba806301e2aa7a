"""A decoding step of Mamba-2.8B: the state decays by its input's step, takes the input, and answers."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"a_log": ("uniform", 0.0, 2.5), "state": ("normal", 0.1)}


@mirage.optimize(
    inputs=[
        [
            ((1, 5120), "fp32"),
            ((1, 5120), "fp32"),
            ((5120, 16), "fp32"),
            ((1, 16), "fp32"),
            ((1, 16), "fp32"),
            ((5120,), "fp32"),
            ((1, 5120, 16), "fp32"),
        ],
        [
            ((64, 5120), "fp32"),
            ((64, 5120), "fp32"),
            ((5120, 16), "fp32"),
            ((64, 16), "fp32"),
            ((64, 16), "fp32"),
            ((5120,), "fp32"),
            ((64, 5120, 16), "fp32"),
        ],
    ]
)
def selective_scan_step(x, dt, a_log, bmat, cmat, d, state):
    dt = F.softplus(dt)
    da = torch.exp(dt.unsqueeze(-1) * -torch.exp(a_log))
    state = state * da + (dt * x).unsqueeze(-1) * bmat.unsqueeze(1)
    return (state * cmat.unsqueeze(1)).sum(-1) + d * x, state
