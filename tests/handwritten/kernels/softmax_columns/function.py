"""Softmax over the first dimension."""

import mirage


@mirage.optimize(inputs=[((61, 150), "fp32")])
def softmax_columns(x):
    return x.softmax(dim=0)
