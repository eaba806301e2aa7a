"""The gated half of a Conformer-L's convolution module: a product to twice the width, and GLU."""

import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}


@mirage.optimize(
    inputs=[((8, 1500, 512), "fp16"), ((512,), "fp16"), ((512,), "fp16"), ((1024, 512), "fp16"), ((1024,), "fp16")]
)
def conformer_glu(x, g, b, w, wb):
    x = F.layer_norm(x, (x.shape[-1],), g, b)
    return F.glu(F.linear(x, w, wb), dim=-1)
