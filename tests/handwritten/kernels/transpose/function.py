"""A transposed copy."""

import mirage


@mirage.optimize(inputs=[((90, 140), "fp16")])
def transpose(x):
    return x.t().contiguous()
