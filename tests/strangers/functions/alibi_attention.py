import math

import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


def alibi_slopes(n, device):
    start = 2.0 ** (-8.0 / n)
    return torch.pow(start, torch.arange(1, n + 1, device=device, dtype=torch.float32))


@mirage.optimize(inputs=[((2, 16, 512, 64), "fp16"), ((2, 16, 512, 64), "fp16"), ((2, 16, 512, 64), "fp16")])
def alibi_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    b, h, s, d = q.shape
    pos = torch.arange(s, device=q.device)
    dist = pos[None, :] - pos[:, None]
    bias = alibi_slopes(h, q.device).view(h, 1, 1) * dist
    scores = torch.matmul(q, k.transpose(-1, -2)).float() / math.sqrt(d)
    scores = scores + bias
    scores = scores.masked_fill(dist > 0, float("-inf"))
    return torch.matmul(F.softmax(scores, dim=-1).to(v.dtype), v)
