"""The activation of GPT-2 as its first code spelled it."""

import math

import torch

import mirage


@mirage.optimize(inputs=[((4096, 6400), "fp16")])
def gelu_tanh_by_hand(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
