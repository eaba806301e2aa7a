"""The ranking loss of LightGCN from embeddings of users, bought and not bought items."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((32768, 64), "fp32"), ((32768, 64), "fp32"), ((32768, 64), "fp32")])
def bpr_loss(user, bought, other):
    margin = (user * bought).sum(-1) - (user * other).sum(-1)
    return F.softplus(-margin).mean()
