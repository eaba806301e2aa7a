"""Library kernels (one PyTorch call) evaluated in an arithmetic: the contractions that the kernel graph may leave to cuBLAS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mirage.errors import UnknownOperator
from mirage.mugraph.grammar import LibraryKernel, MuGraph

if TYPE_CHECKING:
    from mirage.verify.execute import Arithmetic

Array = np.ndarray[Any, np.dtype[Any]]
Run = Callable[["Arithmetic", "list[Array]"], Array]


def matmul(a: Arithmetic, x: Array, y: Array) -> Array:
    """x @ y over the last two axes, the others broadcast as torch.matmul does (the leading axis is the draws')."""
    wide = a.mul(a.lift(x)[..., :, None, :], np.swapaxes(a.lift(y), -1, -2)[..., None, :, :])
    return a.sum(wide, wide.ndim - 1)


def _matmul(a: Arithmetic, args: list[Array]) -> Array:
    x, y = args
    rank = max(x.ndim, y.ndim)
    x, y = (v.reshape(v.shape[0], *(1,) * (rank - v.ndim), *v.shape[1:]) for v in (x, y))
    return matmul(a, x, y)


def _linear(a: Arithmetic, args: list[Array]) -> Array:
    out = _matmul(a, [args[0], np.swapaxes(args[1], -1, -2)])
    if len(args) == 2:
        return out
    return a.add(out, a.lift(args[2]).reshape(args[2].shape[0], *(1,) * (out.ndim - 2), -1))


LIBRARY: dict[str, Run] = {"matmul": _matmul, "mm": _matmul, "bmm": _matmul, "linear": _linear}


def run_library(kernel: LibraryKernel, graph: MuGraph, memory: Mapping[str, Array], a: Arithmetic) -> Array:
    """The result of a library kernel; UnknownOperator for a call that has no value here (it is never accepted)."""
    run = LIBRARY.get(kernel.op)
    if run is None:
        raise UnknownOperator(f"the library kernel {kernel.op} has no value in the fields")
    out = run(a, [memory[x] for x in kernel.args])
    shape = graph.shape(graph.tensor(kernel.out))
    return np.broadcast_to(out, (max(out.shape[0], a.draws), *out.shape[1:])).reshape(-1, *shape)
