"""The activation of gpt-oss-20b's experts: gate and up interleaved, clamped, one added."""

import torch

import mirage

FEW_ROWS = True


@mirage.optimize(inputs=[[((4, 5760), "bf16")], [((2048, 5760), "bf16")]])
def oai_swiglu(x):
    gate, up = x[..., ::2], x[..., 1::2]
    gate, up = gate.clamp(max=7.0), up.clamp(min=-7.0, max=7.0)
    return (up + 1) * (gate * torch.sigmoid(gate * 1.702))
