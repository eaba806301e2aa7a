"""The activation of MobileNetV3 written with a clipped ramp."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((32, 960, 7, 7), "fp16")])
def hard_swish(x):
    return x * F.relu6(x + 3.0) / 6.0
