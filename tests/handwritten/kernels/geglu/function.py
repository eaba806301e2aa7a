"""GeGLU with the exact GELU."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((24, 333), "fp32"), ((24, 333), "fp32")])
def geglu(gate, up):
    return F.gelu(gate) * up
