import torch
from torch import Tensor

import mirage

GAMMA, LAMBDA = 0.99, 0.95


@mirage.optimize(inputs=[((16, 1024), "fp32"), ((16, 1024), "fp32"), ((16, 1024), "bool"), ((1024,), "fp32")])
def gae_reverse_loop(rewards: Tensor, values: Tensor, dones: Tensor, last_value: Tensor) -> tuple[Tensor, Tensor]:
    advs = []
    lastgaelam = torch.zeros_like(last_value)
    for t in reversed(range(16)):
        nextvalues = last_value if t == 15 else values[t + 1]
        nonterminal = 1.0 - dones[t].float()
        delta = rewards[t] + GAMMA * nextvalues * nonterminal - values[t]
        lastgaelam = delta + GAMMA * LAMBDA * nonterminal * lastgaelam
        advs.insert(0, lastgaelam)
    advantages = torch.stack(advs)
    return advantages, advantages + values
