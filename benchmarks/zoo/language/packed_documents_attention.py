"""Attention over short documents packed into one row, as pretraining of LLaMA-3-8B does: a token sees its own document alone."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"document": ("int", 0, 8)}


@mirage.optimize(
    inputs=[((1, 8, 4096, 128), "bf16"), ((1, 8, 4096, 128), "bf16"), ((1, 8, 4096, 128), "bf16"), ((4096,), "int32")]
)
def packed_documents_attention(q, k, v, document):
    document = document.sort().values
    i = torch.arange(q.shape[2], device=q.device)
    mask = (document[:, None] == document[None, :]) & (i[:, None] >= i[None, :])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
