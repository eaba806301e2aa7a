import torch
import torch.nn.functional as F
import mirage


@mirage.optimize(inputs=[((4, 128, 64), "fp16"), ((128, 64), "fp16"), ((128, 64), "fp16")])
def rope(x, c, s):
    a, b = x[..., :32], x[..., 32:]
    return x * c + torch.cat([-b, a], -1) * s
