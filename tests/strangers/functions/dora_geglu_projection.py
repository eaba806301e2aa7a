import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[((256, 768), "fp32"), ((4096, 768), "fp32"), ((4096, 16), "fp32"), ((16, 768), "fp32"), ((4096,), "fp32")]
)
def dora_geglu_projection(x: Tensor, w0: Tensor, b: Tensor, a: Tensor, magnitude: Tensor) -> Tensor:
    w = w0 + 0.5 * torch.mm(b, a)
    col_norm = torch.linalg.vector_norm(w, dim=1)
    scale = magnitude / col_norm.detach()
    h = torch.mm(x, w.t()).mul(scale)
    value, gate = torch.tensor_split(h, 2, dim=-1)
    return value * F.gelu(gate, approximate="tanh")
