"""The first norm of a ViT-L block and the packed projection to queries, keys and values, 577 tokens an image."""

import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}


@mirage.optimize(
    inputs=[((8, 577, 1024), "fp16"), ((1024,), "fp16"), ((1024,), "fp16"), ((3072, 1024), "fp16"), ((3072,), "fp16")]
)
def vit_layer_norm_linear(x, gamma, beta, w, b):
    return F.linear(F.layer_norm(x, (x.shape[-1],), gamma, beta, 1e-6), w, b)
