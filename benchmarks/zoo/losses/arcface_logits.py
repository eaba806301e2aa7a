"""The logits of ArcFace: the angle to a face's own class grows by a margin."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1), "labels": ("int", 0, 8192)}


@mirage.optimize(inputs=[((512, 512), "fp32"), ((8192, 512), "fp32"), ((512,), "int64")])
def arcface_logits(x, w, labels):
    cos = (F.normalize(x) @ F.normalize(w).t()).clamp(-1 + 1e-6, 1 - 1e-6)
    with_margin = torch.cos(torch.acos(cos) + 0.5)
    own = F.one_hot(labels, w.shape[0]).bool()
    return 64.0 * torch.where(own, with_margin, cos)
