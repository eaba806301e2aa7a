"""The router of DeepSeek-V3: sigmoids of 256 experts, a bias that only decides who is chosen."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w": ("weight", 1), "bias": ("normal", 0.01)}


@mirage.optimize(
    inputs=[
        [((1, 7168), "fp32"), ((256, 7168), "fp32"), ((256,), "fp32")],
        [((1024, 7168), "fp32"), ((256, 7168), "fp32"), ((256,), "fp32")],
    ]
)
def router_sigmoid_bias(x, w, bias):
    scores = torch.sigmoid(F.linear(x, w))
    _, index = torch.topk(scores + bias, 8, dim=-1)
    weights = scores.gather(1, index)
    return weights / (weights.sum(-1, keepdim=True) + 1e-20) * 2.5, index
