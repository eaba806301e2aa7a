"""The query of DeepSeek-V2 brought into the latent space, a product for each head."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"w_uk": ("weight", 1)}


@mirage.optimize(
    inputs=[[((1, 128, 128), "bf16"), ((128, 128, 512), "bf16")], [((64, 128, 128), "bf16"), ((128, 128, 512), "bf16")]]
)
def mla_absorb(q, w_uk):
    return torch.einsum("thd,hdc->thc", q, w_uk)
