"""Batch norm at inference and ReLU, a piece of ResNet-50."""

import torch.nn.functional as F

import mirage

INPUTS = {"var": ("positive",)}


@mirage.optimize(
    inputs=[((32, 256, 56, 56), "fp16"), ((256,), "fp16"), ((256,), "fp16"), ((256,), "fp16"), ((256,), "fp16")]
)
def batch_norm_relu(x, mean, var, weight, bias):
    return F.relu(F.batch_norm(x, mean, var, weight, bias, training=False, eps=1e-5))
