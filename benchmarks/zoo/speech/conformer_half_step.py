"""The feed-forward module of a Conformer-L, which counts half."""

import torch.nn.functional as F

import mirage

INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1)}


@mirage.optimize(
    inputs=[
        ((6000, 512), "fp16"),
        ((512,), "fp16"),
        ((512,), "fp16"),
        ((2048, 512), "fp16"),
        ((2048,), "fp16"),
        ((512, 2048), "fp16"),
        ((512,), "fp16"),
    ]
)
def conformer_half_step(x, g, b, w1, b1, w2, b2):
    h = F.layer_norm(x, (x.shape[-1],), g, b, 1e-5)
    h = F.linear(F.silu(F.linear(h, w1, b1)), w2, b2)
    return x + 0.5 * h
