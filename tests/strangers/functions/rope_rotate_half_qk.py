import torch
from torch import Tensor

import mirage


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


@mirage.optimize(
    inputs=[((2, 2048, 32, 64), "bf16"), ((2, 2048, 8, 64), "bf16"), ((2, 2048), "int64"), ((32,), "fp32")]
)
def rope_rotate_half_qk(q: Tensor, k: Tensor, position_ids: Tensor, inv_freq: Tensor) -> tuple[Tensor, Tensor]:
    freqs = position_ids[..., None].float() * inv_freq
    emb = torch.cat((freqs, freqs), dim=-1)
    cos = emb.cos().to(q.dtype).unsqueeze(2)
    sin = emb.sin().to(q.dtype).unsqueeze(2)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
