"""The patches of ViT-B/16, cut out of images and projected as a product."""

import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}
FIXED = (768,)


@mirage.optimize(inputs=[((32, 3, 224, 224), "fp16"), ((768, 768), "fp16"), ((768,), "fp16")])
def patch_embedding(images, w, b):
    n, c, h, wd = images.shape
    x = images.reshape(n, c, h // 16, 16, wd // 16, 16).permute(0, 2, 4, 1, 3, 5)
    return F.linear(x.reshape(n, -1, c * 256), w, b)
