"""Attention with normalized queries and keys for one new token, as in Chameleon-7B."""

import torch
import torch.nn.functional as F
from jaxtyping import Float16
from torch import Tensor

import mirage


@mirage.optimize
def qknorm_attention(
    q: Float16[Tensor, "32 1 128"],
    k: Float16[Tensor, "32 4096 128"],
    v: Float16[Tensor, "32 4096 128"],
    g_q: Float16[Tensor, "128"],
    g_k: Float16[Tensor, "128"],
) -> Tensor:
    """RMS-normalize q and k along d, scale them by g_q and g_k, attend."""
    q = F.rms_norm(q, (128,), g_q, 1e-6)
    k = F.rms_norm(k, (128,), g_k, 1e-6)
    scores = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    return torch.softmax(scores, dim=-1) @ v


if __name__ == "__main__":
    torch.manual_seed(0)
    q = torch.randn(32, 1, 128, dtype=torch.float16)
    k, v = (torch.randn(32, 4096, 128, dtype=torch.float16) for _ in range(2))
    g_q, g_k = torch.ones(128, dtype=torch.float16), torch.ones(128, dtype=torch.float16)
    print(qknorm_attention(q, k, v, g_q, g_k))
