"""The residual sum and the norm after it in LLaMA-2-7B; both are kept."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True


@mirage.optimize(
    inputs=[
        [((8, 4096), "fp16"), ((8, 4096), "fp16"), ((4096,), "fp16")],
        [((4096, 4096), "fp16"), ((4096, 4096), "fp16"), ((4096,), "fp16")],
    ]
)
def add_rms_norm(x, residual, weight):
    residual = residual + x
    return F.rms_norm(residual, (residual.shape[-1],), weight, 1e-5), residual
