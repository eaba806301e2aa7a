"""The mean of each column."""

import mirage


@mirage.optimize(inputs=[((300, 90), "fp32")])
def column_mean(x):
    return x.mean(dim=0)
