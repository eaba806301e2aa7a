"""A step of a gated delta rule network: the state forgets what the key held before it takes the value."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"k": ("unit",), "beta": ("uniform",), "decay": ("uniform", 0.9, 1.0), "state": ("normal", 0.1)}


@mirage.optimize(
    inputs=[
        [
            ((1, 16, 128), "fp32"),
            ((1, 16, 128), "fp32"),
            ((1, 16, 128), "fp32"),
            ((1, 16), "fp32"),
            ((1, 16), "fp32"),
            ((1, 16, 128, 128), "fp32"),
        ],
        [
            ((16, 16, 128), "fp32"),
            ((16, 16, 128), "fp32"),
            ((16, 16, 128), "fp32"),
            ((16, 16), "fp32"),
            ((16, 16), "fp32"),
            ((16, 16, 128, 128), "fp32"),
        ],
    ]
)
def delta_rule_step(q, k, v, beta, decay, state):
    state = state * decay[..., None, None]
    seen = torch.einsum("bhk,bhkv->bhv", k, state)
    state = state + torch.einsum("bhk,bhv->bhkv", k, (v - seen) * beta[..., None])
    return torch.einsum("bhk,bhkv->bhv", q, state), state
