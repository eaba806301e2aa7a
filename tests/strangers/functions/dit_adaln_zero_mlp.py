import torch.nn.functional as F
from torch import Tensor

import mirage


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


@mirage.optimize(
    inputs=[
        ((4, 256, 384), "fp16"),
        ((4, 384), "fp16"),
        ((1152, 384), "fp16"),
        ((1152,), "fp16"),
        ((1536, 384), "fp16"),
        ((384, 1536), "fp16"),
    ]
)
def dit_adaln_zero_mlp(x: Tensor, c: Tensor, w_ada: Tensor, b_ada: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    shift, scale, gate = F.linear(F.silu(c), w_ada, b_ada).chunk(3, dim=1)
    h = modulate(F.layer_norm(x, [x.size(-1)], eps=1e-6), shift, scale)
    h = F.gelu(h @ w1.t(), approximate="tanh") @ w2.t()
    return x + gate.unsqueeze(1) * h
