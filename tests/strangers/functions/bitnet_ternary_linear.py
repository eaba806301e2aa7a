import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((8, 64, 1024), "bf16"), ((2048, 1024), "bf16"), ((1024,), "bf16")])
def bitnet_ternary_linear(x: Tensor, w: Tensor, g: Tensor) -> Tensor:
    xn = F.rms_norm(x, (x.size(-1),), weight=g, eps=1e-5)
    s = 127.0 / xn.abs().amax(dim=-1, keepdim=True).clamp_(min=1e-5)
    xq = (xn * s).round().clamp_(-128, 127) / s
    ws = 1.0 / w.abs().mean().clamp_(min=1e-5)
    wq = (w * ws).round().clamp_(-1, 1) / ws
    return F.linear(xq, wq)
