"""An affine map of a matrix with more than 2**31 elements."""

import mirage


@mirage.optimize(inputs=[((70000, 40000), "fp16")])
def big_rows(x):
    return x * 0.5 + 1.0
