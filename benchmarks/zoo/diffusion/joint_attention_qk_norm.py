"""Joint attention of Stable Diffusion 3.5: text and image tokens have their norms, and attend together."""

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(
    inputs=[
        ((1, 24, 1024, 64), "bf16"),
        ((1, 24, 1024, 64), "bf16"),
        ((1, 24, 1024, 64), "bf16"),
        ((1, 24, 154, 64), "bf16"),
        ((1, 24, 154, 64), "bf16"),
        ((1, 24, 154, 64), "bf16"),
        ((64,), "bf16"),
        ((64,), "bf16"),
    ]
)
def joint_attention_qk_norm(q, k, v, q_text, k_text, v_text, gq, gk):
    q = torch.cat((F.rms_norm(q, (q.shape[-1],), gq, 1e-6), q_text), dim=2)
    k = torch.cat((F.rms_norm(k, (k.shape[-1],), gk, 1e-6), k_text), dim=2)
    return F.scaled_dot_product_attention(q, k, torch.cat((v, v_text), dim=2))
