"""The router of Mixtral-8x7B: a softmax over eight experts, the two largest, their weights brought to sum one."""

import torch
import torch.nn.functional as F

import mirage

FEW_ROWS = True
INPUTS = {"w": ("weight", 1)}


@mirage.optimize(inputs=[[((1, 4096), "bf16"), ((8, 4096), "bf16")], [((2048, 4096), "bf16"), ((8, 4096), "bf16")]])
def router_top2(x, w):
    probs = F.softmax(F.linear(x, w), dim=1, dtype=torch.float32)
    weights, experts = torch.topk(probs, 2, dim=-1)
    return (weights / weights.sum(dim=-1, keepdim=True)).to(x.dtype), experts
