"""MoCo's logits: one positive and a queue of 65536 negatives, and the loss."""

import torch

import mirage

INPUTS = {"q": ("unit",), "k": ("unit",), "queue": ("unit",)}


@mirage.optimize(inputs=[((256, 128), "fp16"), ((256, 128), "fp16"), ((65536, 128), "fp16")])
def moco_queue(q, k, queue):
    pos = (q * k).sum(-1, keepdim=True)
    logits = torch.cat((pos, q @ queue.t()), dim=1).float() / 0.2
    return (torch.logsumexp(logits, 1) - logits[:, 0]).mean()
