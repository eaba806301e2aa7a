"""The smooth L1 loss of Faster R-CNN's boxes."""

import torch

import mirage


@mirage.optimize(inputs=[((131072, 4), "fp32"), ((131072, 4), "fp32")])
def huber_boxes(pred, target):
    diff = torch.abs(pred - target)
    beta = 1.0 / 9
    return torch.where(diff < beta, 0.5 * diff * diff / beta, diff - 0.5 * beta).sum() / pred.shape[0]
