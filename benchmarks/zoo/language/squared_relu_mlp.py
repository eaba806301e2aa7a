"""The MLP of Nemotron-4-15B, whose activation is the square of a ReLU."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"w1": ("weight", 1), "w2": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((2, 6144), "bf16"), ((24576, 6144), "bf16"), ((6144, 24576), "bf16")],
        [((1024, 6144), "bf16"), ((24576, 6144), "bf16"), ((6144, 24576), "bf16")],
    ]
)
def squared_relu_mlp(x, w1, w2):
    return torch.relu(x @ w1.t()).square() @ w2.t()
