"""The last norm and the logits of LLaMA-3-8B for the last tokens."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((1, 4096), "bf16"), ((4096,), "bf16"), ((128256, 4096), "bf16")],
        [((32, 4096), "bf16"), ((4096,), "bf16"), ((128256, 4096), "bf16")],
    ]
)
def final_logits(x, g, w):
    return F.linear(F.rms_norm(x, (x.shape[-1],), g, 1e-5), w).float()
