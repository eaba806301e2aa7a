"""The gated residual of DiT-XL/2 and the norm of the next half."""

import torch.nn.functional as F

import mirage


@mirage.optimize(
    inputs=[
        ((8, 256, 1152), "bf16"),
        ((8, 256, 1152), "bf16"),
        ((8, 1152), "bf16"),
        ((8, 1152), "bf16"),
        ((8, 1152), "bf16"),
    ]
)
def gated_residual(x, out, gate, shift, scale):
    x = x + gate[:, None] * out
    h = F.layer_norm(x, x.shape[-1:], eps=1e-6)
    return x, h * (1 + scale[:, None]) + shift[:, None]
