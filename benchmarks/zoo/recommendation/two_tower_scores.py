"""In-batch softmax of a two-tower retrieval model, corrected by how often items are drawn."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"log_q": ("uniform", -12.0, -4.0)}


@mirage.optimize(inputs=[((2048, 256), "bf16"), ((2048, 256), "bf16"), ((2048,), "fp32")])
def two_tower_scores(user, item, log_q):
    scores = (F.normalize(user, dim=-1) @ F.normalize(item, dim=-1).t()).float() / 0.05 - log_q
    return -torch.diagonal(F.log_softmax(scores, dim=-1)).mean()
