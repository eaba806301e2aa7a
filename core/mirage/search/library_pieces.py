"""PyTorch's own call for a part: a matrix product of two tensors in device memory, as they lie there, and a bias with it.

It is one more way to compute the part, ranked with the others: where cuBLAS is better than any kernel here, it is the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mirage.meaning.nodes import Add, Input, Reduce
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import LibraryKernel
from mirage.search.kernel_pieces import Piece, Target

Dims = tuple[tuple[str, ...], ...]
DTYPES = ("fp16", "bf16", "fp32")
BIASED = ("linear",)  # that take a vector along the result's last dim, and add it before they round


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


def biased(t: Terms, term: int) -> tuple[int, Input] | None:
    """The two parts of a sum of a matrix product and a vector along an axis that the product has; None for any other term."""
    if not isinstance(t.node(term), Add) or len(t.kids(term)) != 2:
        return None
    for x, y in (t.kids(term), t.kids(term)[::-1]):
        product, vector = t.node(x), t.node(y)
        if not isinstance(product, Reduce) or not isinstance(vector, Input):
            continue
        if len(vector.index) == 1 and t.dims(y) and t.dims(y) < t.dims(x):
            return x, vector
    return None


def calls(t: Terms, target: Target, name: str, dtypes: Mapping[str, str]) -> Iterator[Piece]:
    """The calls that compute the target; `dtypes` are those of the tensors that can be given whole."""
    product, bias = biased(t, target.term) or (target.term, None)
    found = product_of(t, product)
    if found is None or target.members or len(found[1]) != 2:
        return
    if bias is not None and (dtypes.get(bias.name) != target.dtype or whole(bias) != target.dims[-1:]):
        return
    axes, factors = found
    for x, w in (factors, factors[::-1]):
        a, b = t.node(x), t.node(w)
        if not isinstance(a, Input) or not isinstance(b, Input):
            return
        if target.dtype not in DTYPES or {dtypes.get(a.name), dtypes.get(b.name)} != {target.dtype}:
            return
        left, right = whole(a), whole(b)
        op = None if left is None or right is None else call(left, right, axes, target.dims)
        if op is not None and bias is None:
            yield piece(name, op, (a.name, b.name), target.tensor, op)
        elif op in BIASED and bias is not None:
            yield piece(name, op, (a.name, b.name, bias.name), target.tensor, f"{op} with bias")


def piece(name: str, op: str, args: tuple[str, ...], out: str, label: str) -> Piece:
    return Piece((LibraryKernel(name, op, args, out),), (), (), f"torch.{label}", f"library {label}")


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
