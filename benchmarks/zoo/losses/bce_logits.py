"""The binary loss of a tagger of many labels, positives weighted by class."""

import torch.nn.functional as F

import mirage

INPUTS = {"target": ("mask", 0.1), "pos_weight": ("positive", 4.0)}


@mirage.optimize(inputs=[((8192, 5000), "fp16"), ((8192, 5000), "fp16"), ((5000,), "fp16")])
def bce_logits(logits, target, pos_weight):
    return F.binary_cross_entropy_with_logits(logits, target, pos_weight=pos_weight)
