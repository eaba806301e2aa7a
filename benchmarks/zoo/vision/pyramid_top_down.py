"""The top-down step of a feature pyramid over ResNet-50: the coarse level doubled in size, and the finer one added."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((8, 256, 50, 50), "fp16"), ((8, 256, 100, 100), "fp16")])
def pyramid_top_down(coarse, fine):
    return fine + F.interpolate(coarse, scale_factor=2.0, mode="nearest")
