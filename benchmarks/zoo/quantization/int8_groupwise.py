"""A projection of LLaMA-3-8B with a scale and a zero for each group of 128 weights."""

import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"scale": ("positive", 0.0002), "zero": ("int", -8, 8)}
FIXED = (4096,)


@mirage.optimize(
    inputs=[
        [((1, 4096), "fp16"), ((4096, 32, 128), "int8"), ((4096, 32, 1), "fp16"), ((4096, 32, 1), "int8")],
        [((64, 4096), "fp16"), ((4096, 32, 128), "int8"), ((4096, 32, 1), "fp16"), ((4096, 32, 1), "int8")],
    ]
)
def int8_groupwise(x, w, scale, zero):
    deq = (w.half() - zero.half()) * scale
    return F.linear(x, deq.view(w.shape[0], -1).to(x.dtype))
