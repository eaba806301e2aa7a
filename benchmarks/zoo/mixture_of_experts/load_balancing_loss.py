"""The loss that keeps Switch-Base-128's experts in balance."""

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((8192, 128), "fp32")])
def load_balancing_loss(logits):
    probs = torch.softmax(logits, dim=-1)
    chosen = F.one_hot(probs.argmax(dim=-1), logits.shape[-1]).float()
    return logits.shape[-1] * (chosen.mean(0) * probs.mean(0)).sum()
