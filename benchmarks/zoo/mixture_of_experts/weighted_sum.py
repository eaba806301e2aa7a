"""The answers of eight chosen experts, weighted, summed and added to the shared expert's, in DeepSeek-V3."""

import mirage

FEW_ROWS = True
INPUTS = {"weights": ("uniform",)}


@mirage.optimize(
    inputs=[
        [((1, 8, 7168), "bf16"), ((1, 8), "fp32"), ((1, 7168), "bf16")],
        [((2048, 8, 7168), "bf16"), ((2048, 8), "fp32"), ((2048, 7168), "bf16")],
    ]
)
def weighted_sum(experts, weights, shared):
    return (experts * weights.unsqueeze(-1)).sum(dim=1).type_as(shared) + shared
