"""Decoding in a batch of unlike lengths, in LLaMA-2-13B: keys past a sequence's length are not seen."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"lengths": ("int", 1, 4096)}


@mirage.optimize(
    inputs=[((8, 40, 1, 128), "fp16"), ((8, 40, 4096, 128), "fp16"), ((8, 40, 4096, 128), "fp16"), ((8,), "int64")]
)
def decode_length_mask(q, k, v, lengths):
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    seen = torch.arange(k.shape[2], device=k.device)[None, :] < lengths[:, None]
    scores = torch.where(seen[:, None, None, :], scores, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1) @ v
