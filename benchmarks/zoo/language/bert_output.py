"""The output of a BERT-base layer: projection, residual, layer norm."""

import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}


@mirage.optimize(
    inputs=[
        ((6144, 3072), "fp16"),
        ((6144, 768), "fp16"),
        ((768, 3072), "fp16"),
        ((768,), "fp16"),
        ((768,), "fp16"),
        ((768,), "fp16"),
    ]
)
def bert_output(hidden, residual, w, b, gamma, beta):
    return F.layer_norm(F.linear(hidden, w, b) + residual, (residual.shape[-1],), gamma, beta, 1e-12)
