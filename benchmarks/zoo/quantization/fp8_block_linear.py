"""A projection of DeepSeek-V3 whose weight has a scale for each block of 128 by 128."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w": ("normal", 64.0), "scale": ("positive", 0.0002)}
FIXED = (7168,)


@mirage.optimize(
    inputs=[
        [((1, 7168), "bf16"), ((16, 128, 56, 128), "float8_e4m3fn"), ((16, 1, 56, 1), "fp32")],
        [((128, 7168), "bf16"), ((16, 128, 56, 128), "float8_e4m3fn"), ((16, 1, 56, 1), "fp32")],
    ]
)
def fp8_block_linear(x, w, scale):
    deq = (w.float() * scale).to(x.dtype)
    return F.linear(x, deq.reshape(w.shape[0] * w.shape[1], -1))
