"""The gate of WaveNet as a vocoder uses it: a tangent times a sigmoid, with the condition added."""

import torch

import mirage


@mirage.optimize(inputs=[((8, 1024, 8000), "fp32"), ((8, 1024, 8000), "fp32")])
def wavenet_gate(x, cond):
    a, b = (x + cond).chunk(2, dim=1)
    return torch.tanh(a) * torch.sigmoid(b)
