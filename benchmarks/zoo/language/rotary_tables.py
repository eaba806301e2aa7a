"""The cosines and sines of LLaMA-3 from positions, computed in float32."""

import torch

import mirage

INPUTS = {"positions": ("arange",)}


@mirage.optimize(inputs=[((1, 8192), "int64")])
def rotary_tables(positions):
    exponent = torch.arange(0, 128, 2, device=positions.device, dtype=torch.float32) / 128
    freqs = positions[..., None].float() * (500000.0**-exponent)
    emb = torch.cat((freqs, freqs), dim=-1)
    return emb.cos().to(torch.bfloat16), emb.sin().to(torch.bfloat16)
