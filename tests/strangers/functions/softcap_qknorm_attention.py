import torch
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[
        ((2, 512, 8, 128), "bf16"),
        ((2, 512, 8, 128), "bf16"),
        ((2, 512, 8, 128), "bf16"),
        ((128,), "bf16"),
        ((128,), "bf16"),
    ]
)
def softcap_qknorm_attention(q: Tensor, k: Tensor, v: Tensor, qw: Tensor, kw: Tensor) -> Tensor:
    cap = 50.0

    def norm(t, w):
        t32 = t.float()
        t32 = t32 * torch.rsqrt(t32.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (t32 * (1.0 + w.float())).type_as(t)

    logits = torch.einsum("bthd,bshd->bhts", norm(q, qw), norm(k, kw)) * 128**-0.5
    logits = torch.tanh(logits / cap) * cap
    causal = torch.ones(logits.shape[-2:], dtype=torch.bool, device=q.device).tril()
    logits = torch.where(causal, logits, -2.3819763e38)
    probs = logits.float().softmax(dim=-1).to(q.dtype)
    return torch.einsum("bhts,bshd->bthd", probs, v)
