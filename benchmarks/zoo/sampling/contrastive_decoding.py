"""Logits of a large model less those of a small one where the large one finds the word likely."""

import torch

import mirage

FEW_ROWS = True


@mirage.optimize(inputs=[[((1, 32000), "fp16"), ((1, 32000), "fp16")], [((32, 32000), "fp16"), ((32, 32000), "fp16")]])
def contrastive_decoding(expert, amateur):
    expert = torch.log_softmax(expert.float(), -1)
    amateur = torch.log_softmax(amateur.float(), -1)
    cut = expert.amax(-1, keepdim=True) - 2.3
    return (expert - amateur).masked_fill(expert < cut, -1e4).softmax(-1)
