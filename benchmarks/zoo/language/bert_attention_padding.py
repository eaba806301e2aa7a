"""Self-attention of BERT-base with padding as a mask of ones and zeros."""

import math

import torch

import mirage

INPUTS = {"attention_mask": ("mask", 0.8)}


@mirage.optimize(
    inputs=[((16, 12, 384, 64), "fp16"), ((16, 12, 384, 64), "fp16"), ((16, 12, 384, 64), "fp16"), ((16, 384), "fp16")]
)
def bert_attention_padding(q, k, v, attention_mask):
    extended = (1.0 - attention_mask[:, None, None, :]) * -10000.0
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(64) + extended
    return torch.matmul(torch.softmax(scores, dim=-1), v)
