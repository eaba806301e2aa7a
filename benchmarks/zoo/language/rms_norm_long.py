"""The norm of LLaMA-3-70B over a batch of long prompts, 2 GB of activations."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((131072, 8192), "bf16"), ((8192,), "bf16")])
def rms_norm_long(x, weight):
    return F.rms_norm(x, (x.size(-1),), weight, eps=1e-5)
