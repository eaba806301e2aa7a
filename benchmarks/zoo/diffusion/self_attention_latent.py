"""Self-attention of Stable Diffusion XL at 64 by 64 latents."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((2, 10, 4096, 64), "fp16"), ((2, 10, 4096, 64), "fp16"), ((2, 10, 4096, 64), "fp16")])
def self_attention_latent(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)
