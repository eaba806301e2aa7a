"""A product with the transpose of the second matrix."""

import mirage


@mirage.optimize(inputs=[((104, 200), "fp16"), ((136, 200), "fp16")])
def matmul_block_ptr(a, b):
    return a @ b.T
