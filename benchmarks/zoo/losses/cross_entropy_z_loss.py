"""Cross entropy with the penalty on the log of the normalizer that PaLM's training added."""

import torch

import mirage

INPUTS = {"labels": ("int", 0, 50304)}


@mirage.optimize(inputs=[((4096, 50304), "bf16"), ((4096,), "int64")])
def cross_entropy_z_loss(logits, labels):
    logits = logits.float()
    lse = torch.logsumexp(logits, dim=-1)
    nll = lse - torch.gather(logits, -1, labels.unsqueeze(-1)).squeeze(-1)
    return (nll + 1e-4 * lse.square()).mean()
