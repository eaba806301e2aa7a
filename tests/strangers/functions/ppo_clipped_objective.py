import torch
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[
        ((2048, 18), "fp32"),
        ((2048,), "int64"),
        ((2048,), "fp32"),
        ((2048,), "fp32"),
        ((2048,), "fp32"),
        ((2048,), "fp32"),
        ((2048,), "fp32"),
    ]
)
def ppo_clipped_objective(
    logits: Tensor, actions: Tensor, old_logp: Tensor, adv: Tensor, values: Tensor, old_values: Tensor, returns: Tensor
) -> tuple[Tensor, Tensor]:
    eps = 0.2
    logp_all = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    logp = logp_all.gather(-1, actions.long().unsqueeze(-1)).squeeze(-1)
    entropy = -(logp_all * logp_all.exp()).sum(-1).mean()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    logratio = logp - old_logp
    ratio = logratio.exp()
    pg = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - eps, 1 + eps)).mean()
    v_clip = old_values + (values - old_values).clamp(-eps, eps)
    v_loss = 0.5 * torch.max((values - returns) ** 2, (v_clip - returns) ** 2).mean()
    approx_kl = ((ratio - 1) - logratio).mean()
    return pg - 0.01 * entropy + 0.5 * v_loss, approx_kl
