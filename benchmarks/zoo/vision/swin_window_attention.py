"""Window attention of Swin-T's first stage: 49 tokens, three heads, a learned bias of relative positions."""

import mirage


@mirage.optimize(
    inputs=[((512, 3, 49, 32), "fp16"), ((512, 3, 49, 32), "fp16"), ((512, 3, 49, 32), "fp16"), ((3, 49, 49), "fp16")]
)
def swin_window_attention(q, k, v, bias):
    attn = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    attn = attn + bias.unsqueeze(0)
    return attn.softmax(dim=-1) @ v
