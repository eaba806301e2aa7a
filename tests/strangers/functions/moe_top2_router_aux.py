import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((4096, 1024), "bf16"), ((16, 1024), "bf16")])
def moe_top2_router_aux(hidden: Tensor, gate: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    n_exp = gate.shape[0]
    logits = F.linear(hidden, gate).float()
    probs = torch.softmax(logits, dim=1)
    weights, selected = torch.topk(probs, k=2, dim=-1)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    onehot = F.one_hot(selected, num_classes=n_exp).float()
    frac = onehot.sum(dim=1).mean(dim=0)
    aux = n_exp * torch.sum(frac * probs.mean(dim=0))
    z_loss = torch.logsumexp(logits, dim=-1).square().mean()
    return weights.to(hidden.dtype), selected, aux, z_loss
