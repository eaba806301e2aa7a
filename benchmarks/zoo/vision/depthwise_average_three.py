"""The three-by-three average that PoolFormer-S12 mixes tokens with, less the token itself."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((16, 64, 56, 56), "fp16")])
def depthwise_average_three(x):
    return F.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False) - x
