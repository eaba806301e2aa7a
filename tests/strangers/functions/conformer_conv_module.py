import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[
        ((4, 200, 256), "fp32"),
        ((512, 256, 1), "fp32"),
        ((256, 1, 31), "fp32"),
        ((256,), "fp32"),
        ((256,), "fp32"),
        ((256, 256, 1), "fp32"),
        ((4, 200), "bool"),
    ]
)
def conformer_conv_module(
    x: Tensor, pw1: Tensor, dw: Tensor, mean: Tensor, logvar: Tensor, pw2: Tensor, pad_mask: Tensor
) -> Tensor:
    h = F.conv1d(x.transpose(1, 2), pw1)
    h = F.glu(h, dim=1)
    h = h.masked_fill(pad_mask.unsqueeze(1), 0.0)
    h = F.pad(h, (30, 0))
    h = F.conv1d(h, dw, groups=256)
    h = F.batch_norm(h, mean, logvar.exp(), training=False, eps=1e-3)
    h = F.conv1d(F.hardswish(h), pw2)
    return x + h.transpose(1, 2)
