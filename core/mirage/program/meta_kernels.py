"""PyTorch's kernels for meta tensors, without those that read a call's arguments in another order than its schema has them.

A few losses have a reference in Python as their kernel while calls are recorded. The reference has the arguments of
`torch.nn.functional`, `size_average` and `reduce` among them, and is given those of the schema by position: it takes the number of
a reduction for something else, and a loss that is not reduced is recorded as a number. PyTorch's own definition in C++ is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

MISREAD = ("nll_loss", "margin_ranking_loss", "hinge_embedding_loss")


@contextmanager
def kernels_by_schema() -> Iterator[None]:
    """Calls are recorded with the shapes that they give."""
    from torch._C import DispatchKey

    removed = [(op, op.py_kernels.pop(DispatchKey.Meta)) for op in _misread() if DispatchKey.Meta in op.py_kernels]
    for op, _ in removed:
        op._dispatch_cache.clear()  # which kernels were found for a key
    try:
        yield
    finally:
        for op, kernel in removed:
            op.py_kernels[DispatchKey.Meta] = kernel
            op._dispatch_cache.clear()


def _misread() -> list[torch._ops.OpOverload]:
    import torch

    return [getattr(torch.ops.aten, name).default for name in MISREAD]
