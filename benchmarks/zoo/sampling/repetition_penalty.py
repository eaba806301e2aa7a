"""Logits of words that were said are divided where positive and multiplied where negative, for Qwen2.5's words."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"said": ("mask", 0.01)}


@mirage.optimize(
    inputs=[[((1, 151936), "fp16"), ((1, 151936), "bool")], [((16, 151936), "fp16"), ((16, 151936), "bool")]]
)
def repetition_penalty(logits, said):
    penalized = torch.where(logits > 0, logits / 1.1, logits * 1.1)
    return torch.where(said, penalized, logits)
