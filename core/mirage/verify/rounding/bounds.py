"""An arithmetic of values and bounds on their errors: float64 with the methods of `Field`.

The leading axis of an array has two entries: the exact value, and a bound on how far the computed one is off it. Of a 0/1
value the second says that it may be the other one. Integers, indices and flags that are certain have one entry. What operators do
to errors is in their entries (`operators/error_rules.py`); here stand sums, maxima, matrix products and roundings to a dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from mirage.operators.block_operators import BLOCK
from mirage.operators.error_rules import UNIT, absolute, half_unit, own_unit, settled
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.execute import ExecutionFault
from mirage.verify.semantics.operator_values import einsum

# Tensor cores add b products at a time to the accumulator: all are shifted to the largest exponent and cut off there, which loses
# up to a unit (2^-23) each, and the result is cut off once more (Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor
# cores", PeerJ Computer Science 7:e330, 2021: b = 4, 8 and 16 on V100, A100 and H100, with no more bits than these assumed). Of b = 4 that
# are six units for four products; of larger b fewer a product.
CUT_A_PRODUCT, CUT_AT_LEAST = 1.5 * 2.0**-23, 6 * 2.0**-23
TF32_CUT = 2.0**-10  # of an operand whose low bits the tensor core does not read
SLACK, FLOOR = 1 + 2.0**-20, 2.0**-40  # for the roundings of float64, relative to the bound and to the value


def split(x: Array) -> tuple[Array, Array]:
    """(values, errors) without the leading axis."""
    return (x[0], x[1]) if x.shape[0] == 2 else (x[0], np.zeros(x.shape[1:]))


def join(value: Array, error: Array) -> Array:
    return np.stack(np.broadcast_arrays(np.asarray(value, np.float64), error))


def rounded(x: Array, dtype: str, unit: Callable[[Array, str], Array] = half_unit) -> Array:
    """After a rounding to a dtype; what has no error and is one of its numbers is exact. All is computed in float32."""
    if dtype in ("fp32", "fp64"):
        return x
    value, error = split(x)
    own = unit(absolute(value, error), dtype)
    half = half_unit(absolute(value, error), dtype)
    with np.errstate(all="ignore"):
        exact = (error == 0) & ((value == 0) | (np.isfinite(half) & (np.remainder(value, 2 * half) == 0)))
    return join(value, np.where(exact | np.isinf(value) & (error == 0), error, error + own))


def final(x: Array) -> tuple[Array, Array]:
    """(values, bounds on the errors) with room for the roundings of float64."""
    value, error = split(x)
    with np.errstate(all="ignore"):
        return value, np.where(np.isfinite(value) & ~np.isnan(error), error * SLACK + np.abs(value) * FLOOR, np.inf)


class ErrorBounds:
    """Of float32 arithmetic, in the order that is asked for. `operands`: the dtype to which library products round their operands."""

    draws = 2

    def __init__(self) -> None:
        self.operands = "fp32"

    def const(self, value: Fraction | int) -> Array:
        value = Fraction(value)
        if value.denominator == 1 and abs(value) < 1 << 24:
            return np.full((1,), int(value), np.int64)
        return self.literal(float(value))

    def literal(self, value: float) -> Array:
        off = 0.0 if not np.isfinite(value) else abs(float(np.float32(value)) - value)
        return np.array([value, off])

    def pad(self, value: float) -> Array:
        return self.literal(value)

    def neg_inf(self) -> Array:
        return np.full((1,), -np.inf)

    def lift(self, x: Array) -> Array:
        if x.shape[0] == 2:
            return np.asarray(x, np.float64)
        value = np.asarray(x[0], np.float64)
        large = x.dtype.kind == "i" and bool((np.abs(x) > 1 << 24).any())
        return join(value, half_unit(np.abs(value)) if large else np.zeros(value.shape))

    def truth(self, x: Array) -> Array:
        return x if x.dtype == bool else np.asarray(x != 0)

    def add(self, *xs: Array) -> Array:
        return self._rule("add", xs)

    def mul(self, *xs: Array) -> Array:
        """Flags select: where one is false the product is zero, and where it may be, it is off by all of it."""
        flags, rest = [x for x in xs if x.dtype == bool], tuple(x for x in xs if x.dtype != bool)
        out = self._rule("mul", rest) if rest else np.ones((1,) * xs[0].ndim, np.int64)
        for flag in flags:
            if rest and flag.shape[0] == 1:
                out = np.where(flag, out, out.dtype.type(0))
                continue
            truth, doubt = split(flag)
            value, error = split(self.lift(out))
            whole = np.where(doubt != 0, absolute(value, error), np.where(truth, error, 0.0))
            out = join(np.where(truth, value, 0.0), whole)
        if rest:
            return out
        return (
            np.asarray(out != 0)
            if out.shape[0] == 2
            else np.asarray(np.logical_and.reduce(np.broadcast_arrays(*flags)))
        )

    def where(self, c: Array, a: Array, b: Array) -> Array:
        return self.fn("where", c, a, b)

    def fn(self, name: str, *xs: Array) -> Array:
        if name in ("add", "mul"):
            return np.asarray(getattr(self, name)(*xs))
        entry = BLOCK.get(name)
        if entry is None or entry.float64 is None or entry.form != "pointwise":
            raise ExecutionFault(f"{name} has no value in float64")
        if name == "where" and xs[0].shape[0] == 1 and {x.dtype for x in xs[1:]} == {np.dtype(bool)}:
            return np.where(xs[0] != 0, xs[1], xs[2])
        return self._rule(name, xs)

    def _rule(self, name: str, xs: Sequence[Array]) -> Array:
        """By the entry's values and its rule for errors; integers stay exact where it keeps them."""
        entry = BLOCK[name]
        assert entry.float64 is not None
        with np.errstate(all="ignore"):
            if all(x.dtype.kind in "ib" and x.shape[0] == 1 for x in xs) and (entry.integral or entry.flag):
                out = np.asarray(entry.float64(*(x.astype(np.int64) for x in xs)))
                return np.asarray(out != 0) if entry.flag else out.astype(np.int64)
            values, errors = zip(*(split(self.lift(x)) for x in xs))
            value = values[0] if entry.rounds else np.asarray(entry.float64(*values))
            shape = np.broadcast_shapes(*(v.shape for v in values))
            value = np.broadcast_to(value, shape)
            out = join(value, entry.error(value, values, errors))
        return np.asarray(out != 0) if entry.flag else out

    # ---- reductions
    def sum(self, x: Array, axis: int) -> Array:
        """In any order: zeros that stand in the padding add nothing."""
        return self.total(x, (axis,))

    def total(self, x: Array, axes: tuple[int, ...], depth: int | None = None) -> Array:
        """A sum over axes whose longest chain of additions is `depth` (None: not known, it may be all of them)."""
        value, error = split(self.lift(x))
        over = tuple(a - 1 for a in axes)
        with np.errstate(all="ignore"):
            size = absolute(value, error)
            chain = np.maximum(np.count_nonzero(size, axis=over) - 1, 0)
            chain = chain if depth is None else np.minimum(chain, depth)
            off = error.sum(axis=over)
            out = value.sum(axis=over)
            own = np.where(chain == 0, 0.0, chain * UNIT * (1 + chain * UNIT) * size.sum(axis=over))
        return join(out, settled(out, off + own, [out], [off]))

    def max(self, x: Array, axis: int) -> Array:
        if x.shape[0] == 1 and x.dtype.kind == "i":
            return np.asarray(x.max(axis=axis))
        value, error = split(self.lift(x))
        with np.errstate(all="ignore"):
            out = value.max(axis=axis - 1)
            off = np.maximum((value + error).max(axis=axis - 1) - out, out - (value - error).max(axis=axis - 1))
            off = np.where(np.isinf(out) & (error.max(axis=axis - 1) == 0), 0.0, off)
        return join(out, np.where(np.isnan(off), np.inf, off))

    # ---- matrix products
    def matmul(self, x: Array, y: Array) -> Array:
        """x @ y of a library kernel: operands that are computed are rounded to its dtype."""
        x, y = (rounded(self.lift(v), self.operands, own_unit) for v in (x, y))
        rank = max(x.ndim, y.ndim) - 1
        letters = "abcdefgh"[: rank - 2]
        left, right = letters[len(letters) - (x.ndim - 3) :] + "yk", letters[len(letters) - (y.ndim - 3) :] + "kz"
        return contract(f"{left},{right}->{letters}yz", x, y, self.operands != "fp32")

    def random(self, shape: tuple[int, ...]) -> Array:
        raise ExecutionFault("bounds have no random values")


def cut(lanes: int, matrix_unit: bool) -> float:
    """The error of a product of so many lanes, relative to the sum of its terms' sizes and of what they are added to."""
    return max(lanes * CUT_A_PRODUCT, CUT_AT_LEAST) if matrix_unit else (lanes + 1) * UNIT


def contract(equation: str, x: Array, y: Array, matrix_unit: bool) -> Array:
    """A contraction of two operands whose products are added up in any order, on a matrix unit or by fused multiply-adds."""
    (a, ea), (b, eb) = split(x), split(y)
    with np.errstate(all="ignore"):
        value = einsum(equation, [a, b])
        size = einsum(equation, [np.abs(a), np.abs(b)])
        off = np.zeros_like(value)
        if ea.any():
            off = off + einsum(equation, [ea, np.abs(b) + eb])
        if eb.any():
            off = off + einsum(equation, [np.abs(a), eb])
        error = off + cut(lanes_of(equation, a, b), matrix_unit) * (size + off)
    return join(value, settled(value, error, [value], [off]))


def lanes_of(equation: str, a: Array, b: Array) -> int:
    """How many products an element of a contraction sums."""
    parts, _, result = equation.partition("->")
    length: dict[str, int] = {}
    for part, x in zip(parts.split(","), (a, b)):
        for letter, n in zip(part, x.shape):
            length[letter] = max(length.get(letter, 1), n)
    return int(np.prod([n for letter, n in length.items() if letter not in result], dtype=np.int64))
