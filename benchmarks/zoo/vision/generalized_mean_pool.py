"""Generalized mean pooling of an image retrieval network over ResNet-101's features."""

import mirage


@mirage.optimize(inputs=[((32, 2048, 24, 32), "fp32")])
def generalized_mean_pool(x):
    return x.clamp(min=1e-6).pow(3.0).mean(dim=(-2, -1)).pow(1.0 / 3.0)
