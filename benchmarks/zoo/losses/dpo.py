"""Direct preference optimization from the log probabilities of answers, summed over tokens."""

import torch.nn.functional as F

import mirage

INPUTS = {
    "chosen": ("normal", 0.1),
    "rejected": ("normal", 0.1),
    "ref_chosen": ("normal", 0.1),
    "ref_rejected": ("normal", 0.1),
    "mask": ("mask", 0.7),
}


@mirage.optimize(
    inputs=[
        ((64, 2048), "fp32"),
        ((64, 2048), "fp32"),
        ((64, 2048), "fp32"),
        ((64, 2048), "fp32"),
        ((64, 2048), "fp32"),
    ]
)
def dpo(chosen, rejected, ref_chosen, ref_rejected, mask):
    ratio = ((chosen - ref_chosen) * mask).sum(-1)
    other = ((rejected - ref_rejected) * mask).sum(-1)
    return -F.logsigmoid(0.1 * (ratio - other)).mean()
