"""Functions that stay PyTorch's own in a kernel, as operators: the comparison of two functions reads such calls as them.

Each has its definition as its term. Over the reals `expm1`, `log1p`, `sinh` and `elu` equal what loses every digit near zero, and
`erfc` what loses them above it: they are read as operators (`NEAR_ZERO`, `FAR_FROM_ZERO`)
only where the roundings of both functions were compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from mirage.ir.tensor_spec import TensorType
from mirage.operators import type_rules
from mirage.operators.entry import Attrs, DtypeError, Operator
from mirage.operators.pointwise import pointwise
from mirage.operators.protocols import Maker, TermBuilder

HALF = Fraction(1, 2)


def _log(t: TermBuilder, x: int) -> int:
    return t.fn("log", x)


def _to_base(base: int) -> Callable[[TermBuilder, int], int]:
    return lambda t, x: t.mul(_log(t, x), t.inv(_log(t, t.const(base))))


def _cosh(t: TermBuilder, x: int) -> int:
    return t.mul(t.const(HALF), t.add(t.exp(x), t.exp(t.neg(x))))


def _expm1(t: TermBuilder, x: int) -> int:
    return t.sub(t.exp(x), t.const(1))


def _log1p(t: TermBuilder, x: int) -> int:
    return _log(t, t.add(t.const(1), x))


def _sinh(t: TermBuilder, x: int) -> int:
    return t.mul(t.const(HALF), t.sub(t.exp(x), t.exp(t.neg(x))))


def _erfc(t: TermBuilder, x: int) -> int:
    return t.sub(t.const(1), t.fn("erf", x))


def _logaddexp(t: TermBuilder, x: int, y: int) -> int:
    return _log(t, t.add(t.exp(x), t.exp(y)))


def _unary(name: str, summary: str, value: Callable[[TermBuilder, int], int], *hazards: str) -> Operator:
    made = pointwise(name, summary, 1, lambda t, xs, a: value(t, xs[0]), {}, f"torch.{name}({{0}})", hazards=hazards)
    return replace(made, family="call")


def sort_type(types: Sequence[TensorType], a: Attrs) -> TensorType:
    if not type_rules.is_float(types[0].dtype):
        raise DtypeError("a sort is covered for floats only")
    return types[0]


def sort(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """At each place the element before which so many others stand: those that are less, and equal ones further ahead."""
    x, shape = xs[0], m.type(xs[0]).shape
    at = type_rules.dim(a["dim"], len(shape))
    n, rest = shape[at], (1,) * (len(shape) - at - 1)
    mine = m.op("reshape", x, shape=(*shape[: at + 1], 1, *shape[at + 1 :]))
    other = m.op("reshape", x, shape=(*shape[:at], 1, *shape[at:]))
    place, ahead = (m.op("reshape", m.op("iota", size=n), shape=(*s, *rest)) for s in ((n, 1), (1, n)))
    less = m.op("gt" if a["descending"] else "lt", other, mine)
    tie = m.op("logical_and", m.op("eq", other, mine), m.op("lt", ahead, place))
    counted = m.op("where", m.op("logical_or", less, tie), m.const(1.0), m.const(0.0))
    rank = m.op("sum", counted, dim=(at + 1,), keepdim=False)
    standing = m.op("eq", m.op("reshape", rank, shape=(*shape[:at], 1, *shape[at:])), place)
    nothing = m.op("cast", m.const(0.0), dtype=m.type(x).dtype)
    return m.op("sum", m.op("where", standing, other, nothing), dim=(at + 1,), keepdim=False)


NEAR_ZERO = ("expm1", "log1p", "sinh")  # what their definitions lose the digits of
FAR_FROM_ZERO = ("erfc",)  # whose definition loses them there
CALL_FUNCTIONS: tuple[Operator, ...] = (
    _unary("expm1", "exp(x) - 1", _expm1, "overflows above 88.7 in float32"),
    _unary("log1p", "log(1 + x)", _log1p, "NaN below -1, -inf at -1"),
    _unary("sinh", "(exp(x) - exp(-x)) / 2", _sinh, "overflows above 89.4 in float32"),
    _unary("erfc", "1 - erf(x)", _erfc, "below the least number of float32 above 10"),
    _unary("log2", "logarithm to base 2", _to_base(2), "NaN below zero, -inf at zero"),
    _unary("log10", "logarithm to base 10", _to_base(10), "NaN below zero, -inf at zero"),
    _unary("cosh", "(exp(x) + exp(-x)) / 2", _cosh, "overflows above 89.4 in float32"),
    Operator("logaddexp", "call", "log(exp(x) + exp(y))", 2, 2, type_rules.floating, value=lambda t, xs, a: _logaddexp(t, *xs),
             call="torch.logaddexp({0}, {1})"),
    Operator("sort", "call", "the elements of a dim in their order", 1, 1, sort_type, expand=sort,
             call="torch.sort({0}, dim={dim}, descending={descending}).values", hazards=("of NaN none is less",)),
)  # fmt: skip
