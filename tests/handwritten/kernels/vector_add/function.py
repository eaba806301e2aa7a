"""The sum of two vectors."""

import mirage


@mirage.optimize(inputs=[((5000,), "fp32"), ((5000,), "fp32")])
def vector_add(x, y):
    return x + y
