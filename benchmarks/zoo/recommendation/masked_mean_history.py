"""The mean over the items that a user did see, in YouTube's candidate network."""

import mirage

INPUTS = {"mask": ("mask", 0.5)}


@mirage.optimize(inputs=[((4096, 50, 256), "fp32"), ((4096, 50), "fp32")])
def masked_mean_history(x, mask):
    return (x * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
