import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[
        ((2, 64, 512), "fp32"),
        ((2, 20, 512), "fp32"),
        ((512,), "fp32"),
        ((1025, 512), "fp32"),
        ((1025,), "fp32"),
        ((2, 19), "int64"),
    ]
)
def rnnt_joint_logprobs(
    enc: Tensor, pred: Tensor, b: Tensor, w: Tensor, wb: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    h = torch.tanh(enc.unsqueeze(2) + pred.unsqueeze(1) + b)
    lp = F.log_softmax(F.linear(h, w, wb), dim=-1)
    blank = lp[..., 0]
    index = targets[:, None, :, None].expand(-1, enc.size(1), -1, -1)
    emit = lp[:, :, :-1].gather(dim=3, index=index).squeeze(3)
    return blank, emit
