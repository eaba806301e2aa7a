"""The mean loss over the tokens of the answers alone, in supervised tuning of Mistral-7B."""

import torch.nn.functional as F

import mirage

INPUTS = {"labels": ("int", 0, 32000), "mask": ("mask", 0.6)}


@mirage.optimize(inputs=[((4096, 32000), "bf16"), ((4096,), "int64"), ((4096,), "bf16")])
def masked_language_loss(logits, labels, mask):
    loss = F.cross_entropy(logits.float(), labels, reduction="none")
    return (loss * mask).sum() / mask.sum()
