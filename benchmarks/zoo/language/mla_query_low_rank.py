"""The low-rank path to queries of DeepSeek-V3: down, norm, up."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w_down": ("weight", 1), "w_up": ("weight", 1)}


@mirage.optimize(
    inputs=[
        [((1, 7168), "bf16"), ((1536, 7168), "bf16"), ((1536,), "bf16"), ((24576, 1536), "bf16")],
        [((512, 7168), "bf16"), ((1536, 7168), "bf16"), ((1536,), "bf16"), ((24576, 1536), "bf16")],
    ]
)
def mla_query_low_rank(x, w_down, g, w_up):
    h = F.rms_norm(F.linear(x, w_down), (w_down.shape[0],), g, 1e-6)
    return F.linear(h, w_up)
