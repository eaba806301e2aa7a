import torch
import torch.nn.functional as F
import mirage


@mirage.optimize(inputs=[((4, 96, 64), "fp16"), ((4, 160, 64), "fp16"), ((4, 160, 64), "fp16"), ((96, 160), "bool")])
def maskattn(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=m)
