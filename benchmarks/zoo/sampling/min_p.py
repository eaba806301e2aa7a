"""Words less likely than a twentieth of the likeliest are taken out, for Mistral-7B's 32000."""

import torch

import mirage

FEW_ROWS = True


@mirage.optimize(inputs=[[((1, 32000), "fp32")], [((64, 32000), "fp32")]])
def min_p(logits):
    probs = torch.softmax(logits, dim=-1)
    keep = probs >= 0.05 * probs.amax(dim=-1, keepdim=True)
    probs = torch.where(keep, probs, torch.zeros_like(probs))
    return probs / probs.sum(-1, keepdim=True)
