"""The fifty likeliest words of GPT-2 and probabilities of them alone."""

import torch

import mirage

FEW_ROWS = True


@mirage.optimize(inputs=[[((1, 50257), "fp16")], [((32, 50257), "fp16")]])
def top_k_filter(logits):
    kth = torch.topk(logits, 50, dim=-1).values[:, -1:]
    return torch.softmax(logits.masked_fill(logits < kth, float("-inf")).float(), dim=-1)
