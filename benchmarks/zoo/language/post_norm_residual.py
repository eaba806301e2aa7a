"""The norm of a block's output before it joins the residual stream, as OLMo-2-7B does."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True


@mirage.optimize(
    inputs=[
        [((1, 4096), "bf16"), ((1, 4096), "bf16"), ((4096,), "bf16")],
        [((4096, 4096), "bf16"), ((4096, 4096), "bf16"), ((4096,), "bf16")],
    ]
)
def post_norm_residual(h, residual, weight):
    return residual + F.rms_norm(h, (h.shape[-1],), weight, 1e-6)
