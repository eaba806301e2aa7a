"""The part of nucleus sampling after the sort: words past the mass are taken out and the rest sums to one."""

import mirage

FEW_ROWS = True
INPUTS = {"logits": ("descending",)}


@mirage.optimize(inputs=[[((1, 32000), "fp32")], [((32, 32000), "fp32")]])
def top_p_mask(logits):
    probs = logits.softmax(dim=-1)
    before = probs.cumsum(dim=-1) - probs
    probs = probs.masked_fill(before > 0.9, 0.0)
    return probs / probs.sum(dim=-1, keepdim=True)
