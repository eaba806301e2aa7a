"""The likeliest word of LLaMA-2-7B and its log probability."""

import torch

import mirage

FEW_ROWS = True


@mirage.optimize(inputs=[[((1, 32000), "fp16")], [((128, 32000), "fp16")]])
def greedy_with_score(logits):
    logp = torch.log_softmax(logits.float(), dim=-1)
    score, word = logp.max(dim=-1)
    return word, score
