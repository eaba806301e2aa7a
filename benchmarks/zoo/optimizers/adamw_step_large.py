"""One AdamW step over half a billion parameters kept flat: 2 GB for each of four tensors."""

import torch

import mirage

INPUTS = {"v": ("positive",)}


@mirage.optimize(
    inputs=[((536870912,), "fp32"), ((536870912,), "fp32"), ((536870912,), "fp32"), ((536870912,), "fp32")]
)
def adamw_step_large(p, g, m, v):
    m = torch.lerp(m, g, 0.1)
    v = v * 0.95 + g.square() * 0.05
    p = p * (1 - 1e-4 * 0.1) - 1e-4 * m / (v.sqrt() + 1e-8)
    return p, m, v
