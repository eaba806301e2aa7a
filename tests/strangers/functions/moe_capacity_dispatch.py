import torch
import torch.nn.functional as F
from torch import Tensor

import mirage

CAPACITY = 80


@mirage.optimize(inputs=[((512, 256), "fp32"), ((512, 8), "fp32"), ((8, 256, 512), "fp32"), ((8, 512, 256), "fp32")])
def moe_capacity_dispatch(x: Tensor, logits: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    gates = logits.softmax(-1)
    gate, idx = gates.max(dim=-1)
    mask = F.one_hot(idx, logits.size(-1))
    slot = (torch.cumsum(mask, dim=0) - 1) * mask
    mask = mask * (slot < CAPACITY)
    slot_id = (slot * mask).sum(-1)
    loc = F.one_hot(slot_id, CAPACITY).to(x.dtype)
    dispatch = torch.einsum("te,tc->tec", mask.to(x.dtype), loc)
    combine = dispatch * gate[:, None, None]
    xe = torch.einsum("tec,td->ecd", dispatch, x)
    ye = torch.bmm(F.relu(torch.bmm(xe, w1)).square(), w2)
    return torch.einsum("tec,ecd->td", combine, ye)
