"""The focal loss of RetinaNet's classification head."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"targets": ("mask", 0.05)}


@mirage.optimize(inputs=[((96000, 80), "fp32"), ((96000, 80), "fp32")])
def sigmoid_focal(logits, targets):
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    p_t = p * targets + (1 - p) * (1 - targets)
    alpha_t = 0.25 * targets + 0.75 * (1 - targets)
    return (alpha_t * ce * (1 - p_t) ** 2.0).sum() / targets.sum().clamp(min=1.0)
