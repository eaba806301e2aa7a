import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((16384, 80), "fp32"), ((16384,), "int64")])
def sigmoid_focal_loss_sum(logits: Tensor, cls: Tensor) -> Tensor:
    alpha, gamma = 0.25, 2.0
    t = F.one_hot(cls, num_classes=81)[:, 1:].to(logits.dtype)
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, t, reduction="none")
    p_t = p * t + (1 - p) * (1 - t)
    loss = ce * ((1 - p_t) ** gamma)
    loss = (alpha * t + (1 - alpha) * (1 - t)) * loss
    return loss.sum() / (cls > 0).sum().clamp(min=1)
