"""PyTorch's own call for a part: a matrix product of two tensors in device memory, as they lie there.

It is one more way to compute the part, ranked with the others: where cuBLAS is better than any kernel here, it is the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mirage.meaning.nodes import Input, Reduce
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import LibraryKernel
from mirage.search.kernel_pieces import Piece, Target

Dims = tuple[tuple[str, ...], ...]
DTYPES = ("fp16", "bf16", "fp32")


def product_of(t: Terms, term: int) -> tuple[frozenset[str], tuple[int, ...]] | None:
    """The axes and the factors of a sum, or of sums in sums, of one product."""
    axes: list[str] = []
    while isinstance(n := t.node(term), Reduce):
        if n.op != "sum" or n.changes:
            return None
        axes.append(n.axis)
        term = n.body
    scale, factors = t.flat("mul", (term,))
    return (frozenset(axes), tuple(factors)) if axes and scale == 1 else None


def calls(t: Terms, target: Target, name: str, dtypes: Mapping[str, str]) -> Iterator[Piece]:
    """The calls that compute the target; `dtypes` are those of the tensors that can be given whole."""
    found = product_of(t, target.term)
    if found is None or target.members or len(found[1]) != 2:
        return
    axes, factors = found
    for x, w in (factors, factors[::-1]):
        a, b = t.node(x), t.node(w)
        if not isinstance(a, Input) or not isinstance(b, Input):
            return
        dtype = dtypes.get(a.name)
        if dtype not in DTYPES or dtype != dtypes.get(b.name):
            return
        if target.dtype != dtype:
            return
        left, right = whole(a), whole(b)
        op = None if left is None or right is None else call(left, right, axes, target.dims)
        if op is not None:
            kernel = LibraryKernel(name, op, (a.name, b.name), target.tensor)
            yield Piece((kernel,), (), (), f"torch.{op}", f"library {op}")


def whole(x: Input) -> Dims | None:
    """The axes of the dims of a tensor that is read whole."""
    axes = [a for d in x.index for a in d.axes]
    return None if any(d.offset for d in x.index) or len(set(axes)) < len(axes) else tuple(d.axes for d in x.index)


def call(left: Dims, right: Dims, axes: frozenset[str], out: Dims) -> str | None:
    """The operator that gives `out` from operands with these dims, summed over `axes`."""
    if len(left) < 2 or set(left[-1]) != axes:
        return None
    batch = left[: len(right) - 2] if len(right) in (2, len(left)) else None
    if batch is not None and right[:-1] == (*batch, left[-1]) and out == (*left[:-1], right[-1]):
        return "matmul"
    if len(right) == 2 and right[-1] == left[-1] and out == (*left[:-1], right[0]):
        return "linear"
    return None
