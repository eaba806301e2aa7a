"""The clipped policy loss of reinforcement learning from feedback, over the tokens of the answers."""

import torch

import mirage

INPUTS = {"logp": ("normal", 0.1), "old_logp": ("normal", 0.1), "mask": ("mask", 0.7)}


@mirage.optimize(inputs=[((256, 1024), "fp32"), ((256, 1024), "fp32"), ((256, 1024), "fp32"), ((256, 1024), "fp32")])
def ppo_clip(logp, old_logp, advantage, mask):
    ratio = torch.exp(logp - old_logp)
    loss = torch.max(-advantage * ratio, -advantage * torch.clamp(ratio, 0.8, 1.2))
    return (loss * mask).sum() / mask.sum()
