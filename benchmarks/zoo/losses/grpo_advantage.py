"""Rewards of groups of answers to the same question, brought to mean zero and deviation one."""

import mirage


@mirage.optimize(inputs=[((1024, 64), "fp32")])
def grpo_advantage(rewards):
    mean = rewards.mean(dim=1, keepdim=True)
    return (rewards - mean) / (rewards.std(dim=1, keepdim=True) + 1e-4)
