"""The keys and values of 77 tokens in Stable Diffusion XL, projected from 2048 numbers."""

import mirage

INPUTS = {"wk": ("weight", 1), "wv": ("weight", 1)}
FIXED = (1280,)


@mirage.optimize(inputs=[((2, 77, 2048), "fp16"), ((1280, 2048), "fp16"), ((1280, 2048), "fp16")])
def cross_attention_project(context, wk, wv):
    k, v = context @ wk.T, context @ wv.T
    b, n, _ = k.shape
    return k.view(b, n, -1, 64).transpose(1, 2), v.view(b, n, -1, 64).transpose(1, 2)
