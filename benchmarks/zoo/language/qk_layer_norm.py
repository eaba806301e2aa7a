"""Queries and keys of Chameleon-7B pass a layer norm over each head."""

import torch.nn.functional as F

import mirage


@mirage.optimize(
    inputs=[
        ((2048, 32, 128), "bf16"),
        ((2048, 32, 128), "bf16"),
        ((32, 128), "bf16"),
        ((32, 128), "bf16"),
        ((32, 128), "bf16"),
        ((32, 128), "bf16"),
    ]
)
def qk_layer_norm(q, k, gq, bq, gk, bk):
    q = F.layer_norm(q, (q.shape[-1],), eps=1e-5) * gq + bq
    k = F.layer_norm(k, (k.shape[-1],), eps=1e-5) * gk + bk
    return q, k
