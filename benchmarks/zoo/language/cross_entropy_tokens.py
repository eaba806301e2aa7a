"""The loss of a LLaMA-3-8B training step: logits in float32, the mean over tokens."""

import torch.nn.functional as F

import mirage

INPUTS = {"labels": ("int", 0, 128256)}


@mirage.optimize(inputs=[((4096, 128256), "bf16"), ((4096,), "int64")])
def cross_entropy_tokens(logits, labels):
    return F.cross_entropy(logits.float(), labels)
