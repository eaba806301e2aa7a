"""The row and column moments of Adafactor for a weight of T5-3B."""

import mirage

INPUTS = {"row": ("positive",), "col": ("positive",)}


@mirage.optimize(inputs=[((16384, 1024), "fp32"), ((16384,), "fp32"), ((1024,), "fp32")])
def adafactor_moments(g, row, col):
    sq = g * g + 1e-30
    return 0.999 * row + 0.001 * sq.mean(dim=-1), 0.999 * col + 0.001 * sq.mean(dim=-2)
