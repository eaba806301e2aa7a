"""Cross-attention of Stable Diffusion 1.5 from 4096 places of the image to 77 tokens of the prompt."""

import torch

import mirage


@mirage.optimize(inputs=[((2, 8, 4096, 40), "fp16"), ((2, 8, 77, 40), "fp16"), ((2, 8, 77, 40), "fp16")])
def cross_attention_77(q, k, v):
    scores = torch.einsum("bhid,bhjd->bhij", q, k) * 40**-0.5
    return torch.einsum("bhij,bhjd->bhid", scores.softmax(dim=-1), v)
