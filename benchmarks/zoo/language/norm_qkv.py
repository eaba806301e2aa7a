"""Input norm and the packed projection to queries, keys and values of Qwen2-7B, with its bias."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((1, 3584), "bf16"), ((3584,), "bf16"), ((4608, 3584), "bf16"), ((4608,), "bf16")],
        [((2048, 3584), "bf16"), ((3584,), "bf16"), ((4608, 3584), "bf16"), ((4608,), "bf16")],
    ]
)
def norm_qkv(x, g, w, b):
    h = F.rms_norm(x, (x.shape[-1],), g, 1e-6)
    return F.linear(h, w, b)
