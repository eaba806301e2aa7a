"""The six modulations of a DiT-XL/2 block from its condition."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((2, 1152), "bf16"), ((6912, 1152), "bf16"), ((6912,), "bf16")],
        [((64, 1152), "bf16"), ((6912, 1152), "bf16"), ((6912,), "bf16")],
    ]
)
def adaln_modulation_params(c, w, b):
    return F.linear(F.silu(c), w, b).chunk(6, dim=1)
