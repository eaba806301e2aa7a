"""Logits fall with how often a word was said, and once for that it was."""

import mirage

FEW_ROWS = True
INPUTS = {"counts": ("int", 0, 4)}


@mirage.optimize(
    inputs=[[((4, 128256), "fp32"), ((4, 128256), "int32")], [((64, 128256), "fp32"), ((64, 128256), "int32")]]
)
def frequency_penalty(logits, counts):
    return logits - 0.5 * counts - 0.2 * (counts > 0).float()
