"""One small expert of Qwen3-30B-A3B from packed weights."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w13": ("weight", 1), "w2": ("weight", 1)}
FIXED = (1536, 768)


@mirage.optimize(
    inputs=[
        [((8, 2048), "bf16"), ((1536, 2048), "bf16"), ((2048, 768), "bf16")],
        [((1024, 2048), "bf16"), ((1536, 2048), "bf16"), ((2048, 768), "bf16")],
    ]
)
def expert_mlp_small(x, w13, w2):
    gate, up = (x @ w13.mT).chunk(2, -1)
    return (F.silu(gate) * up) @ w2.mT
