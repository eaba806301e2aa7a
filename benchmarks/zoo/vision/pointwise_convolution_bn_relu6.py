"""The widening one-by-one convolution of MobileNetV2 as a product, batch norm folded into a scale, ReLU6."""

import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1), "scale": ("positive",)}


@mirage.optimize(inputs=[((25088, 64), "fp16"), ((384, 64), "fp16"), ((384,), "fp16"), ((384,), "fp16")])
def pointwise_convolution_bn_relu6(x, w, scale, shift):
    return F.relu6(F.linear(x, w) * scale + shift)
