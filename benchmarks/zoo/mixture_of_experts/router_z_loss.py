"""The penalty on large logits of ST-MoE's router."""

import torch

import mirage


@mirage.optimize(inputs=[((16384, 64), "bf16")])
def router_z_loss(logits):
    return torch.logsumexp(logits.float(), dim=-1).pow(2).mean()
