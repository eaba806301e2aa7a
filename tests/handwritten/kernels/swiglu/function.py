"""SwiGLU: the gate is the first half of the columns."""

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((30, 1400), "fp16")])
def swiglu(x):
    gate, up = x.float().chunk(2, dim=-1)
    return (F.silu(gate) * up).to(torch.float16)
