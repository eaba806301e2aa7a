"""Batch statistics and the normalized batch of a projection head in self-supervised training."""

import mirage


@mirage.optimize(inputs=[((4096, 2048), "fp32"), ((2048,), "fp32"), ((2048,), "fp32")])
def batch_norm_training(x, weight, bias):
    mean = x.mean(0)
    var = x.var(0, unbiased=False)
    return (x - mean) / (var + 1e-5).sqrt() * weight + bias, mean, var
