import torch
import torch.nn.functional as F
from torch import Tensor

import mirage

POS, T = 100, 4


@mirage.optimize(
    inputs=[
        ((2, 16, 512, 64), "fp16"),
        ((2, 16, 512, 64), "fp16"),
        ((2, 4, 1024), "fp16"),
        ((2, 4, 1024), "fp16"),
        ((2, 4, 1024), "fp16"),
    ]
)
def kv_cache_slice_write(k_cache: Tensor, v_cache: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    b = q.shape[0]
    q, k, v = (t.view(b, T, 16, 64).transpose(1, 2) for t in (q, k, v))
    k_cache[:, :, POS : POS + T] = k
    v_cache[:, :, POS : POS + T] = v
    keys, values = k_cache[:, :, : POS + T], v_cache[:, :, : POS + T]
    att = (q @ keys.transpose(2, 3)) * 0.125
    future = torch.triu(torch.ones(T, POS + T, dtype=torch.bool, device=q.device), diagonal=POS + 1)
    att = att.masked_fill(future, float("-inf"))
    return (F.softmax(att, dim=-1, dtype=torch.float32).to(q.dtype) @ values).transpose(1, 2).reshape(b, T, -1)
