"""The mean Huber loss."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((2300,), "fp32"), ((2300,), "fp32")])
def huber_loss(prediction, target):
    return F.huber_loss(prediction, target, delta=1.5)
