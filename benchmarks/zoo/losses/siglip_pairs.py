"""The sigmoid loss of SigLIP: each pair of image and text is a question of its own."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"image": ("unit",), "text": ("unit",)}


@mirage.optimize(inputs=[((4096, 768), "bf16"), ((4096, 768), "bf16")])
def siglip_pairs(image, text):
    logits = (image @ text.t()).float() * 10.0 - 10.0
    sign = 2 * torch.eye(logits.shape[0], device=logits.device) - 1
    return -F.logsigmoid(sign * logits).sum() / logits.shape[0]
