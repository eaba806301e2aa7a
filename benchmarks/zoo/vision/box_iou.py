"""Intersections over unions of a detector's boxes with the targets, as in DETR's matching."""

import torch

import mirage

INPUTS = {"a": ("uniform", 0.1, 0.9), "b": ("uniform", 0.1, 0.9)}


@mirage.optimize(inputs=[((1600, 4), "fp32"), ((320, 4), "fp32")])
def box_iou(a, b):
    a0, a1 = a[:, :2] - a[:, 2:] / 2, a[:, :2] + a[:, 2:] / 2
    b0, b1 = b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2
    wh = (torch.minimum(a1[:, None], b1) - torch.maximum(a0[:, None], b0)).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area_a, area_b = a[:, 2] * a[:, 3], b[:, 2] * b[:, 3]
    return inter / (area_a[:, None] + area_b - inter)
