import torch.nn.functional as F
from torch import Tensor

import mirage

SCALING = 16.0 / 8


@mirage.optimize(
    inputs=[
        ((4, 128, 1024), "fp16"),
        ((3072, 1024), "fp16"),
        ((16, 1024), "fp16"),
        ((1024, 8), "fp16"),
        ((1024, 8), "fp16"),
    ]
)
def lora_fused_qkv(
    x: Tensor, w: Tensor, lora_a: Tensor, lora_b_q: Tensor, lora_b_v: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = F.linear(x, w).split(1024, dim=-1)
    after_a = F.linear(x, lora_a)
    aq, av = after_a.chunk(2, dim=-1)
    q = q + F.linear(aq, lora_b_q) * SCALING
    v = v + F.linear(av, lora_b_v) * SCALING
    return q, k, v
