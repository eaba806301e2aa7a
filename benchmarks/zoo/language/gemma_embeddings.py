"""Token embeddings of Gemma-2B, scaled by the square root of the width."""

import torch

import mirage

FEW_ROWS = True
INPUTS = {"ids": ("int", 0, 256000)}


@mirage.optimize(
    inputs=[[((8, 1), "int64"), ((256000, 2048), "bf16")], [((1, 4096), "int64"), ((256000, 2048), "bf16")]]
)
def gemma_embeddings(ids, table):
    x = torch.embedding(table, ids)
    return x * torch.tensor(table.shape[1] ** 0.5, dtype=x.dtype)
