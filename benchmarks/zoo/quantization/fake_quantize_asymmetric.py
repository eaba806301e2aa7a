"""Activations of MobileNetV2 rounded to eight bits with a zero point and back."""

import torch

import mirage


@mirage.optimize(inputs=[((32, 96, 56, 56), "fp32")])
def fake_quantize_asymmetric(x):
    low, high = x.amin().clamp(max=0.0), x.amax().clamp(min=0.0)
    scale = (high - low) / 255.0
    zero = torch.round(-low / scale)
    q = torch.clamp(torch.round(x / scale) + zero, 0.0, 255.0)
    return (q - zero) * scale
