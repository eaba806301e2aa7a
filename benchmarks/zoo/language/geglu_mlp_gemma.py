"""The first half of Gemma-7B's MLP: the tanh form of GELU gates."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w_gate": ("weight", 1), "w_up": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((1, 3072), "bf16"), ((24576, 3072), "bf16"), ((24576, 3072), "bf16")],
        [((512, 3072), "bf16"), ((24576, 3072), "bf16"), ((24576, 3072), "bf16")],
    ]
)
def geglu_mlp_gemma(x, w_gate, w_up):
    gate = F.gelu(F.linear(x, w_gate), approximate="tanh")
    return gate * F.linear(x, w_up)
