"""Probabilities of the next word of LLaMA-3-8B with a temperature for each sequence."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"temperature": ("positive",)}


@mirage.optimize(inputs=[[((1, 128256), "fp32"), ((1, 1), "fp32")], [((64, 128256), "fp32"), ((64, 1), "fp32")]])
def temperature_softmax(logits, temperature):
    return torch.softmax(logits / temperature, dim=-1)
