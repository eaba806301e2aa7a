"""The symmetric contrastive loss of CLIP ViT-B/32 over a batch of pairs."""

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((4096, 512), "fp32"), ((4096, 512), "fp32")])
def info_nce_clip(image, text):
    image = F.normalize(image, dim=-1)
    text = F.normalize(text, dim=-1)
    logits = image @ text.t() / 0.07
    labels = torch.arange(logits.shape[0], device=logits.device)
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
