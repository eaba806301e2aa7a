import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[
        ((4, 64, 512), "fp16"),
        ((4, 1024, 512), "fp16"),
        ((4, 1024), "bool"),
        ((512, 512), "fp16"),
        ((1024, 512), "fp16"),
        ((512, 512), "fp16"),
        ((512,), "fp16"),
        ((512,), "fp16"),
    ]
)
def perceiver_cross_attention(
    latents: Tensor, media: Tensor, keep: Tensor, wq: Tensor, wkv: Tensor, wo: Tensor, gamma: Tensor, beta: Tensor
) -> Tensor:
    heads = 8
    x = F.layer_norm(latents, (latents.shape[-1],), weight=gamma, bias=beta, eps=1e-5)
    q = F.linear(x, wq)
    k, v = F.linear(media, wkv).chunk(2, dim=-1)
    q, k, v = [t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v)]
    sim = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    sim = sim.masked_fill(~keep[:, None, None, :], torch.finfo(sim.dtype).min)
    sim = sim - sim.amax(dim=-1, keepdim=True).detach()
    attn = sim.softmax(dim=-1)
    out = (attn @ v).transpose(1, 2).flatten(2)
    return latents + F.linear(out, wo)
