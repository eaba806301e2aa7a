"""Global average pooling and the classifier of ResNet-50."""

import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}


@mirage.optimize(inputs=[((32, 2048, 7, 7), "fp16"), ((1000, 2048), "fp16"), ((1000,), "fp16")])
def global_average_pool_linear(x, w, b):
    return F.linear(x.mean(dim=(2, 3)), w, b)
