"""The chance that each drafted word is kept, and the distribution that replaces one that is not."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"p": ("probability",), "q": ("probability",), "words": ("int", 0, 32000)}


@mirage.optimize(
    inputs=[
        [((5, 32000), "fp32"), ((5, 32000), "fp32"), ((5,), "int64")],
        [((40, 32000), "fp32"), ((40, 32000), "fp32"), ((40,), "int64")],
    ]
)
def speculative_accept(p, q, words):
    i = words.unsqueeze(-1)
    accept = torch.clamp(p.gather(-1, i) / q.gather(-1, i), max=1.0).squeeze(-1)
    rest = torch.clamp(p - q, min=0.0)
    return accept, rest / rest.sum(-1, keepdim=True)
