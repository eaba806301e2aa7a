"""Decoding in gpt-oss-20b: a learned logit for each head joins the softmax and takes part of the weight."""

import torch

import mirage

FEW_ROWS = True


@mirage.optimize(
    inputs=[((1, 64, 1, 64), "bf16"), ((1, 64, 128, 64), "bf16"), ((1, 64, 128, 64), "bf16"), ((64,), "bf16")]
)
def attention_sinks(q, k, v, sinks):
    scores = q @ k.transpose(-1, -2) * 0.125
    sink = sinks.view(1, -1, 1, 1).expand(q.shape[0], -1, q.shape[2], 1)
    joined = torch.cat((scores, sink), dim=-1)
    probs = torch.softmax(joined - joined.amax(-1, keepdim=True), dim=-1)
    return probs[..., :-1] @ v
