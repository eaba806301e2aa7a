"""The router of Qwen3-30B-A3B: the largest eight of 128 logits, softmax over them alone."""

import mirage

FEW_ROWS = True
INPUTS = {"w": ("weight", 1)}


@mirage.optimize(inputs=[[((4, 2048), "bf16"), ((128, 2048), "bf16")], [((4096, 2048), "bf16"), ((128, 2048), "bf16")]])
def router_top8_softmax(x, w):
    top, index = (x @ w.t()).float().topk(8, dim=-1)
    return top.softmax(dim=-1), index
