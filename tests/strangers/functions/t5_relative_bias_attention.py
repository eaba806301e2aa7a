import math

import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


def bucketize_distance(rel, num_buckets=32, max_distance=128):
    half = num_buckets // 2
    ret = (rel > 0).long() * half
    n = rel.abs()
    max_exact = half // 2
    large = (
        max_exact
        + (
            torch.log(n.clamp(min=1).float() / max_exact) / math.log(max_distance / max_exact) * (half - max_exact)
        ).long()
    )
    large = torch.minimum(large, torch.full_like(large, half - 1))
    return ret + torch.where(n < max_exact, n, large)


@mirage.optimize(
    inputs=[((4, 12, 256, 64), "fp32"), ((4, 12, 256, 64), "fp32"), ((4, 12, 256, 64), "fp32"), ((32, 12), "fp32")]
)
def t5_relative_bias_attention(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
    ctx = torch.arange(q.shape[-2], device=q.device)[:, None]
    mem = torch.arange(k.shape[-2], device=q.device)[None, :]
    bias = F.embedding(bucketize_distance(mem - ctx), table).permute(2, 0, 1).unsqueeze(0)
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
    scores += bias
    probs = scores.float().softmax(-1).type_as(scores)
    return torch.einsum("bhqk,bhkd->bhqd", probs, v)
