"""Shape and dtype rules that several operators share: broadcasting, promotion, dims counted from the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mirage.ir.dtypes import DTYPES
from mirage.ir.tensor_spec import TensorType
from mirage.operators.entry import Attrs, DtypeError, ShapeError

_ORDER = list(DTYPES)


def is_float(dtype: str) -> bool:
    return DTYPES[dtype].floating


def _category(dtype: str) -> int:
    return 2 if is_float(dtype) else int(dtype != "bool")


def promote(types: Sequence[TensorType]) -> str:
    """PyTorch's promotion: tensors without dims count only where no tensor with dims has their category."""
    top = max(_category(t.dtype) for t in types)
    ranked = [t for t in types if _category(t.dtype) == top]
    dimensioned = [t for t in ranked if t.shape]
    if not dimensioned and any(t.shape for t in types) and top == 2:
        return "fp32"
    names = sorted({t.dtype for t in dimensioned or ranked}, key=_ORDER.index)
    if {"fp16", "bf16"} <= set(names) and names[-1] == "bf16":
        return "fp32"
    return names[-1]


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of operands. Raises ShapeError."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[int] = []
    for i in range(-rank, 0):
        sizes = {s[i] for s in shapes if len(s) >= -i and s[i] != 1}
        if len(sizes) > 1:
            raise ShapeError(f"shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast at dim {i}")
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def dim(i: int, rank: int) -> int:
    """A dim counted from the front. Raises ShapeError."""
    if not -rank <= i < max(rank, 1):
        raise ShapeError(f"dim {i} is out of range for a tensor of {rank} dims")
    return i % rank if rank else 0


def dims_of(attrs: Attrs, rank: int, name: str = "dim") -> tuple[int, ...]:
    """The dims of an attribute (an int, a tuple, or None for all of them), counted from the front."""
    given = attrs.get(name)
    if given is None or given == ():
        return tuple(range(rank))
    listed = (given,) if isinstance(given, int) else tuple(given)
    return tuple(sorted({dim(i, rank) for i in listed}))


def pointwise(types: Sequence[TensorType], attrs: Attrs) -> TensorType:
    return TensorType(broadcast([t.shape for t in types]), promote(types))


def floating(types: Sequence[TensorType], attrs: Attrs) -> TensorType:
    """Pointwise, and integers become fp32."""
    t = pointwise(types, attrs)
    return t if is_float(t.dtype) else TensorType(t.shape, "fp32")


def flag(types: Sequence[TensorType], attrs: Attrs) -> TensorType:
    return TensorType(broadcast([t.shape for t in types]), "bool")


def same(types: Sequence[TensorType], attrs: Attrs) -> TensorType:
    """The type of the first operand."""
    return TensorType(types[0].shape, types[0].dtype)


def reduced(types: Sequence[TensorType], attrs: Attrs) -> TensorType:
    (t,) = types
    over = dims_of(attrs, len(t.shape))
    keep = bool(attrs.get("keepdim"))
    shape = tuple(1 if i in over else n for i, n in enumerate(t.shape) if keep or i not in over)
    dtype = "int64" if t.dtype in ("bool", "int8", "int32") else t.dtype
    return TensorType(shape, dtype)


def extremum(types: Sequence[TensorType], attrs: Attrs) -> TensorType:
    return TensorType(reduced(types, attrs).shape, types[0].dtype)


def one_dtype(types: Sequence[TensorType], what: str) -> str:
    """The dtype that contraction operands share. Raises DtypeError."""
    if len({t.dtype for t in types}) > 1:
        raise DtypeError(f"{what} takes operands of one dtype, not {' and '.join(t.dtype for t in types)}")
    return types[0].dtype


def numel(shape: Sequence[int]) -> int:
    return math.prod(shape)
