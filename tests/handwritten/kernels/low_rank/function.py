"""A low-rank update of a linear layer's output."""

import torch

import mirage


@mirage.optimize(inputs=[((40, 320), "fp16"), ((320, 16), "fp16"), ((16, 200), "fp16"), ((40, 200), "fp16")])
def low_rank(x, down, up, base):
    update = (x.float() @ down.float()) @ up.float()
    return (base.float() + 0.5 * update).to(torch.float16)
