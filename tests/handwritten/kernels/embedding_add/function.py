"""Embeddings of tokens and positions, added."""

import mirage


@mirage.optimize(inputs=[((90,), "int64"), ((500, 96), "fp16"), ((90, 96), "fp16")])
def embedding_add(ids, table, positions):
    return table[ids] + positions
