"""The log probability of each chosen token, as a reward model's training of Qwen2-7B takes it."""

import torch

import mirage

INPUTS = {"ids": ("int", 0, 152064)}


@mirage.optimize(inputs=[((1024, 152064), "bf16"), ((1024,), "int64")])
def token_log_probs(logits, ids):
    logp = torch.log_softmax(logits.float(), dim=-1)
    return logp.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
