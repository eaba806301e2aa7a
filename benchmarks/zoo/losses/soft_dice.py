"""The Dice loss of a segmentation network with one sigmoid for each pixel, as SAM's masks are trained."""

import mirage

INPUTS = {"targets": ("mask", 0.3)}


@mirage.optimize(inputs=[((64, 65536), "fp32"), ((64, 65536), "fp32")])
def soft_dice(inputs, targets):
    p = inputs.sigmoid()
    top = 2 * (p * targets).sum(-1)
    return (1 - (top + 1) / (p.sum(-1) + targets.sum(-1) + 1)).mean()
