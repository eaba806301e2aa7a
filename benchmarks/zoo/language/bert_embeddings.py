"""The sum of word, position and segment embeddings of BERT-base, and its layer norm."""

import torch.nn.functional as F

import mirage

INPUTS = {"ids": ("int", 0, 30522), "segments": ("int", 0, 2)}


@mirage.optimize(
    inputs=[
        ((16, 512), "int64"),
        ((16, 512), "int64"),
        ((30522, 768), "fp16"),
        ((512, 768), "fp16"),
        ((2, 768), "fp16"),
        ((768,), "fp16"),
        ((768,), "fp16"),
    ]
)
def bert_embeddings(ids, segments, words, positions, kinds, gamma, beta):
    x = F.embedding(ids, words) + positions + F.embedding(segments, kinds)
    return F.layer_norm(x, (x.shape[-1],), gamma, beta, 1e-12)
