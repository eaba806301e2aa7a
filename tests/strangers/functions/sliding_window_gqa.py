import torch
import torch.nn.functional as F
from torch import Tensor

import mirage

WINDOW = 256


@mirage.optimize(inputs=[((1, 1024, 16, 64), "bf16"), ((1, 1024, 4, 64), "bf16"), ((1, 1024, 4, 64), "bf16")])
def sliding_window_gqa(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    bsz, seqlen, n_q, hd = q.shape
    n_rep = n_q // k.size(2)
    k = k.repeat_interleave(n_rep, dim=2).transpose(1, 2)
    v = v.repeat_interleave(n_rep, dim=2).transpose(1, 2)
    q = q.transpose(1, 2)
    i = torch.arange(seqlen, device=q.device).unsqueeze(1)
    j = torch.arange(seqlen, device=q.device).unsqueeze(0)
    allowed = (j <= i) & (i - j < WINDOW)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, dropout_p=0.0)
    return out.transpose(1, 2).contiguous().view(bsz, seqlen, n_q * hd)
