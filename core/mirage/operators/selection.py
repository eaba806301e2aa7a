"""Operators that pick elements by their places or by an index: each is a sum over places of which all but one are masked.

A kernel then reads the whole dim that is picked from. That is free where the dim is read anyway, as by the log-sum-exp of a cross
entropy.
"""

from __future__ import annotations

from collections.abc import Sequence

from mirage.ir.tensor_spec import TensorType
from mirage.operators.entry import Attrs, Form, Indices, Operator, ShapeError
from mirage.operators.protocols import Arguments, Maker
from mirage.operators.type_rules import dim, is_float

Types = Sequence[TensorType]
INDICES = ("int32", "int64")


def _places(m: Maker, size: int, at: int, rank: int) -> int:
    """0, 1, 2, ... along dim `at` of `rank`."""
    return m.op("reshape", m.op("iota", size=size), shape=(1,) * at + (size,) + (1,) * (rank - at - 1))


def _kept(m: Maker, condition: int, x: int) -> int:
    """x where the condition holds, else 0."""
    dtype = m.type(x).dtype
    zero = m.const(0.0)
    return m.op("where", condition, x, zero if dtype == "fp32" else m.op("cast", zero, dtype=dtype))


# ---- gather
def gather_type(types: Types, a: Attrs) -> TensorType:
    x, index = types
    if not _one_each(x.shape, index.shape, a["dim"]):
        raise ShapeError(f"an index {list(index.shape)} does not pick one element of each line of {list(x.shape)}")
    return TensorType(index.shape, x.dtype)


def _one_each(x: Sequence[int], index: Sequence[int], at: int) -> bool:
    return len(x) == len(index) > 0 and all(
        n == (1 if i == at else m) for i, (m, n) in enumerate(zip(x, index, strict=True))
    )


def gather(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    x, index = xs
    shape = m.type(x).shape
    here = m.op("eq", _places(m, shape[a["dim"]], a["dim"], len(shape)), index)
    return m.op("sum", _kept(m, here, x), dim=(a["dim"],), keepdim=True)


def _gather(m: Maker, a: Arguments) -> int:
    return m.op("gather", a["self"], a["index"], dim=dim(a["dim"], len(m.type(a["self"]).shape)))


def _picks_one(m: Maker, a: Arguments) -> bool:
    x, index = m.type(a["self"]), m.type(a["index"])
    return is_float(x.dtype) and index.dtype in INDICES and _one_each(x.shape, index.shape, dim(a["dim"], len(x.shape)))


# ---- one_hot, eye, diagonal
def one_hot(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    shape = (*m.type(xs[0]).shape, 1)
    return m.op("cast", m.op("eq", m.op("reshape", xs[0], shape=shape), m.op("iota", size=a["classes"])), dtype="int64")


def eye(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    same = m.op("eq", _places(m, a["rows"], 0, 2), _places(m, a["columns"], 1, 2))
    return same if a["dtype"] == "bool" else m.op("cast", same, dtype=a["dtype"])


def _eye(m: Maker, a: Arguments) -> int:
    return m.op("eye", rows=a["n"], columns=a.get("m", a["n"]), dtype=a.get("dtype") or "fp32")


def _spans(shape: Sequence[int], a: Attrs) -> tuple[int, int, int]:
    """Of a diagonal: its rows' first, the column of that, and how many there are."""
    row, column = max(0, -a["offset"]), max(0, a["offset"])
    return row, column, min(shape[a["dim1"]] - row, shape[a["dim2"]] - column)


def diagonal_type(types: Types, a: Attrs) -> TensorType:
    shape = types[0].shape
    length = _spans(shape, a)[2]
    if a["dim1"] == a["dim2"] or length < 1:
        raise ShapeError(f"{list(shape)} has no diagonal {a['offset']} of dims {a['dim1']} and {a['dim2']}")
    rest = tuple(n for i, n in enumerate(shape) if i not in (a["dim1"], a["dim2"]))
    return TensorType((*rest, length), types[0].dtype)


def diagonal(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    shape = m.type(xs[0]).shape
    rest = [i for i in range(len(shape)) if i not in (a["dim1"], a["dim2"])]
    x = m.op("permute", xs[0], dims=(*rest, a["dim1"], a["dim2"]))
    row, column, length = _spans(shape, a)
    at = len(rest)
    if shape[a["dim1"]] != length:
        x = m.op("slice", x, dim=at, start=row, length=length)
    if shape[a["dim2"]] != length:
        x = m.op("slice", x, dim=at + 1, start=column, length=length)
    on = m.op("eq", _places(m, length, at, at + 2), _places(m, length, at + 1, at + 2))
    return m.op("sum", _kept(m, on, x), dim=(at + 1,), keepdim=False)


def _diagonal(m: Maker, a: Arguments) -> int:
    rank = len(m.type(a["self"]).shape)
    dims = {k: dim(a[k], rank) for k in ("dim1", "dim2")}
    return m.op("diagonal", a["self"], offset=a["offset"], **dims)


_OUTSIDE = ("an index outside of the dim, an error in PyTorch, picks nothing: zero",)
SELECTION: tuple[Operator, ...] = (
    Operator("gather", "shape", "of each line of a dim the element that an index names", 2, 2, gather_type, expand=gather,
             torch={"aten.gather.default": Form(build=_gather, when=_picks_one)}, call="torch.gather({0}, {dim}, {1})",
             hazards=_OUTSIDE, indices=lambda types, a: Indices(1, types[0].shape[a["dim"]])),
    Operator("one_hot", "shape", "1 at the place that an index names, else 0", 1, 1,
             lambda types, a: TensorType((*types[0].shape, a["classes"]), "int64"), expand=one_hot,
             torch={"aten.one_hot.default": Form(("self",), {"classes": "num_classes"}, when=lambda m, a: a["num_classes"] > 0)},
             call="F.one_hot({0}, {classes})", hazards=_OUTSIDE, indices=lambda types, a: Indices(0, a["classes"])),
    Operator("eye", "shape", "1 on the diagonal, else 0", 0, 0,
             lambda types, a: TensorType((a["rows"], a["columns"]), a["dtype"]), expand=eye,
             torch={f"aten.eye.{k}": Form(build=_eye) for k in ("default", "m")},
             call="torch.eye({rows}, {columns}, dtype={torch_dtype})"),
    Operator("diagonal", "shape", "the elements of two dims whose indices differ by a number", 1, 1, diagonal_type, expand=diagonal,
             torch={f"aten.{k}.default": Form(build=_diagonal, when=lambda m, a: is_float(m.type(a["self"]).dtype))
                    for k in ("diagonal", "diagonal_copy")},
             call="torch.diagonal({0}, {offset}, {dim1}, {dim2})"),
)  # fmt: skip
