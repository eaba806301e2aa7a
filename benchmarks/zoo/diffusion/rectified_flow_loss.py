"""The loss of a rectified flow as Stable Diffusion 3 trains it, weighted for each image."""

import mirage

INPUTS = {"weight": ("positive",)}


@mirage.optimize(
    inputs=[((32, 16, 64, 64), "bf16"), ((32, 16, 64, 64), "bf16"), ((32, 16, 64, 64), "bf16"), ((32,), "fp32")]
)
def rectified_flow_loss(pred, x, noise, weight):
    err = (pred.float() - (noise.float() - x.float())).pow(2)
    return (weight * err.flatten(1).mean(1)).mean()
