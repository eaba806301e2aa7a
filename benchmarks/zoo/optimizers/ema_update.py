"""The moving average of a diffusion transformer's weights, kept in float32 beside bfloat16 weights."""

import mirage


@mirage.optimize(inputs=[((28, 4608, 1152), "fp32"), ((28, 4608, 1152), "bf16")])
def ema_update(ema, p):
    return ema * 0.9999 + p.float() * (1 - 0.9999)
