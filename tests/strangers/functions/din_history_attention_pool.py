import torch
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[
        ((256, 64), "fp32"),
        ((256, 50, 64), "fp32"),
        ((256,), "int64"),
        ((256, 80), "fp32"),
        ((80,), "fp32"),
        ((80, 1), "fp32"),
    ]
)
def din_history_attention_pool(
    query: Tensor, hist: Tensor, lengths: Tensor, w1: Tensor, b1: Tensor, w2: Tensor
) -> Tensor:
    q = query.unsqueeze(1).expand(-1, hist.size(1), -1)
    feats = torch.cat([q, hist, q - hist, q * hist], dim=-1)
    h = torch.addmm(b1, feats.reshape(-1, feats.size(-1)), w1)
    h = torch.sigmoid((h - h.mean(0)) / torch.sqrt(h.var(0) + 1e-9)) * h
    score = h.mm(w2).view(hist.shape[:2])
    mask = torch.arange(hist.size(1), device=hist.device)[None, :] < lengths[:, None]
    score = torch.where(mask, score / 8.0, torch.full_like(score, -(2.0**31)))
    return torch.bmm(score.softmax(1).unsqueeze(1), hist).squeeze(1)
