import torch
from torch import Tensor

import mirage


def to_corners(b):
    cx, cy, w, h = b.unbind(-1)
    return torch.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], dim=-1)


@mirage.optimize(inputs=[((8, 300, 4), "fp32"), ((8, 300, 4), "fp32"), ((8, 300), "bool")])
def giou_loss_cxcywh(pred: Tensor, target: Tensor, valid: Tensor) -> Tensor:
    p, t = to_corners(pred.sigmoid()), to_corners(target.sigmoid())
    wh = (torch.min(p[..., 2:], t[..., 2:]) - torch.max(p[..., :2], t[..., :2])).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area_p = (p[..., 2:] - p[..., :2]).prod(-1)
    area_t = (t[..., 2:] - t[..., :2]).prod(-1)
    union = area_p + area_t - inter
    ewh = torch.max(p[..., 2:], t[..., 2:]) - torch.min(p[..., :2], t[..., :2])
    hull = ewh[..., 0] * ewh[..., 1]
    giou = inter / (union + 1e-7) - (hull - union) / (hull + 1e-7)
    return ((1 - giou) * valid).sum() / valid.sum().clamp(min=1)
