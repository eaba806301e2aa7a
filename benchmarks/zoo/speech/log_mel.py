"""The log-mel features of Whisper: power spectrum, mel filters, logarithm held within eight of the largest."""

import torch

import mirage

INPUTS = {"filters": ("uniform", 0.0, 0.02)}


@mirage.optimize(inputs=[((4, 201, 3000), "fp32"), ((80, 201), "fp32")])
def log_mel(magnitudes, filters):
    mel = filters @ magnitudes.abs() ** 2
    log_spec = torch.clamp(mel, min=1e-10).log10()
    log_spec = torch.maximum(log_spec, log_spec.amax(dim=(1, 2), keepdim=True) - 8.0)
    return (log_spec + 4.0) / 4.0
