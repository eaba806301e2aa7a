"""The whole gated MLP of Mistral-7B for a few tokens."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w_gate": ("weight", 1), "w_up": ("weight", 1), "w_down": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((1, 4096), "bf16"), ((14336, 4096), "bf16"), ((14336, 4096), "bf16"), ((4096, 14336), "bf16")],
        [((16, 4096), "bf16"), ((14336, 4096), "bf16"), ((14336, 4096), "bf16"), ((4096, 14336), "bf16")],
    ]
)
def swiglu_mlp(x, w_gate, w_up, w_down):
    return F.linear(F.silu(F.linear(x, w_gate)) * F.linear(x, w_up), w_down)
