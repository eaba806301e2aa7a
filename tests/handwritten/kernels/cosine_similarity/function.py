"""The cosine of the angles between rows."""

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((44, 300), "bf16"), ((44, 300), "bf16")])
def cosine_similarity(x, y):
    return F.cosine_similarity(x.float(), y.float(), dim=1, eps=1e-6).to(torch.bfloat16)
