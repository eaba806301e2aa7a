"""The MLP of a Whisper large-v3 decoder's block with its norm and residual."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [
            ((5, 1280), "fp16"),
            ((1280,), "fp16"),
            ((1280,), "fp16"),
            ((5120, 1280), "fp16"),
            ((5120,), "fp16"),
            ((1280, 5120), "fp16"),
            ((1280,), "fp16"),
        ],
        [
            ((1500, 1280), "fp16"),
            ((1280,), "fp16"),
            ((1280,), "fp16"),
            ((5120, 1280), "fp16"),
            ((5120,), "fp16"),
            ((1280, 5120), "fp16"),
            ((1280,), "fp16"),
        ],
    ]
)
def whisper_mlp(x, g, b, w1, b1, w2, b2):
    return x + F.linear(F.gelu(F.linear(F.layer_norm(x, x.shape[-1:], g, b), w1, b1)), w2, b2)
