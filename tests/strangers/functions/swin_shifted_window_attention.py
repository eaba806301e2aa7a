import torch
import torch.nn.functional as F
from torch import Tensor

import mirage

WS, SHIFT, HEADS = 7, 3, 4


@mirage.optimize(
    inputs=[
        ((4, 28, 28, 128), "fp32"),
        ((384, 128), "fp32"),
        ((384,), "fp32"),
        ((4, 49, 49), "fp32"),
        ((128, 128), "fp32"),
    ]
)
def swin_shifted_window_attention(x: Tensor, wqkv: Tensor, bqkv: Tensor, bias: Tensor, wo: Tensor) -> Tensor:
    B, H, W, C = x.shape
    y = torch.roll(x, shifts=(-SHIFT, -SHIFT), dims=(1, 2))
    y = y.view(B, H // WS, WS, W // WS, WS, C).permute(0, 1, 3, 2, 4, 5).reshape(-1, WS * WS, C)
    qkv = F.linear(y, wqkv, bqkv).reshape(-1, WS * WS, 3, HEADS, C // HEADS).permute(2, 0, 3, 1, 4)
    q, k, v = qkv.unbind(0)
    attn = (q * (C // HEADS) ** -0.5) @ k.transpose(-2, -1) + bias.unsqueeze(0)
    y = (attn.softmax(dim=-1) @ v).transpose(1, 2).reshape(-1, WS * WS, C)
    y = F.linear(y, wo)
    y = y.view(B, H // WS, W // WS, WS, WS, C).permute(0, 1, 3, 2, 4, 5).reshape(B, H, W, C)
    return x + torch.roll(y, shifts=(SHIFT, SHIFT), dims=(1, 2))
