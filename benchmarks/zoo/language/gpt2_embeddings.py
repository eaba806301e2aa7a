"""Token and position embeddings of GPT-2."""

import mirage

FEW_ROWS = True
INPUTS = {"ids": ("int", 0, 50257), "positions": ("int", 0, 1024)}


@mirage.optimize(
    inputs=[
        [((16, 1), "int64"), ((16, 1), "int64"), ((50257, 768), "fp16"), ((1024, 768), "fp16")],
        [((8, 1024), "int64"), ((8, 1024), "int64"), ((50257, 768), "fp16"), ((1024, 768), "fp16")],
    ]
)
def gpt2_embeddings(ids, positions, wte, wpe):
    return wte[ids] + wpe[positions]
