"""The gated relative bias of WavLM-Large's attention."""

import torch

import mirage

INPUTS = {"gate_in": ("normal",)}


@mirage.optimize(
    inputs=[
        ((2, 16, 749, 64), "fp16"),
        ((2, 16, 749, 64), "fp16"),
        ((2, 16, 749, 64), "fp16"),
        ((16, 749, 749), "fp16"),
        ((2, 16, 749), "fp16"),
    ]
)
def wavlm_gated_bias(q, k, v, bias, gate_in):
    bias = bias * torch.sigmoid(gate_in)[..., None]
    scores = q @ k.transpose(-1, -2) * 0.125 + bias
    return torch.softmax(scores, dim=-1) @ v
