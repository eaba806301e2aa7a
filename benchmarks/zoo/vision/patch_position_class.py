"""A class token before the patches of ViT-B/16, and the embeddings of positions added."""

import torch

import mirage


@mirage.optimize(inputs=[((64, 196, 768), "fp16"), ((1, 1, 768), "fp16"), ((1, 197, 768), "fp16")])
def patch_position_class(patches, cls, positions):
    x = torch.cat((cls.expand(patches.shape[0], -1, -1), patches), dim=1)
    return x + positions
