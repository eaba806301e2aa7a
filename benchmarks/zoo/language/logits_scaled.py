"""The logits of Cohere's Command-R, scaled, over a batch of prompts: 8 GB of bfloat16."""

import torch

import mirage


@mirage.optimize(inputs=[((16384, 256000), "bf16")])
def logits_scaled(logits):
    return torch.log_softmax(logits * 0.0625, dim=-1).amax(dim=-1)
