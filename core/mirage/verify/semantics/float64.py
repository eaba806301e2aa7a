"""float64 with the methods of `Field`: one evaluator serves both. The leading axis of draws has length one.

Values of operators are the table's (`float64`, by numpy); the field has methods of its own for them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mirage.operators.block_operators import BLOCK
from mirage.verify.semantics.execute import ExecutionFault

Array = NDArray[np.generic]


class Floats:
    """IEEE double precision."""

    lead = 1
    draws = 1

    def const(self, value: Fraction | int) -> Array:
        value = Fraction(value)
        exact = value.denominator == 1 and abs(value) < 1 << 53
        return np.full((1,), int(value), np.int64) if exact else np.full((1,), float(value))

    def literal(self, value: float) -> Array:
        return np.full((1,), float(value))

    pad = literal

    def neg_inf(self) -> Array:
        return np.full((1,), -np.inf)

    def lift(self, x: Array) -> Array:
        return np.asarray(x, np.float64)

    def truth(self, x: Array) -> Array:
        return x if x.dtype == bool else np.asarray(x != 0)

    def add(self, *xs: Array) -> Array:
        return self._chain(np.add, xs)

    def _chain(self, fn: Callable[[Array, Array], Array], xs: tuple[Array, ...]) -> Array:
        out = xs[0].astype(np.int64) if xs[0].dtype == bool else xs[0]
        for x in xs[1:]:
            out = fn(out, x.astype(np.int64) if x.dtype == bool else x)
        return np.asarray(out)

    def mul(self, *xs: Array) -> Array:
        flags = [x for x in xs if x.dtype == bool]
        rest = tuple(x for x in xs if x.dtype != bool)
        if not rest:
            return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*flags)))
        with np.errstate(all="ignore"):
            out = self._chain(np.multiply, rest)
        if not flags:
            return out
        return np.where(np.logical_and.reduce(np.broadcast_arrays(*flags)), out, out.dtype.type(0))

    def where(self, c: Array, a: Array, b: Array) -> Array:
        return np.where(self.truth(c), a, b)

    def fn(self, name: str, *xs: Array) -> Array:
        """An operator by its name in the table. Integers stay exact where it keeps them, and in comparisons."""
        if name in ("add", "mul", "where"):  # a flag selects, and keeps the dtype of what it selects
            return np.asarray(getattr(self, name)(*xs))
        entry = BLOCK.get(name)
        if entry is None or entry.float64 is None or entry.form != "pointwise":
            raise ExecutionFault(f"{name} has no value in float64")
        exact = entry.integral or entry.flag
        with np.errstate(all="ignore"):
            xs = tuple(x.astype(np.int64) if x.dtype == bool else x for x in xs)
            out = np.asarray(entry.float64(*(xs if exact else (x.astype(np.float64) for x in xs))))
        return self.truth(out) if entry.flag else out

    def neg(self, x: Array) -> Array:
        return self.fn("neg", x)

    def inv(self, x: Array) -> Array:
        return self.fn("inv", x)

    def exp(self, x: Array) -> Array:
        return self.fn("exp", x)

    def sqrt(self, x: Array) -> Array:
        return self.fn("sqrt", x)

    def sum(self, x: Array, axis: int) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(x.sum(axis=axis))

    def max(self, x: Array, axis: int) -> Array:
        return np.asarray(x.max(axis=axis))

    def random(self, shape: tuple[int, ...]) -> Array:
        return np.random.default_rng(0).standard_normal((1, *shape))

    def same(self, a: Array, b: Array) -> Array:
        a, b = self.lift(a), self.lift(b)
        return np.asarray(np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))

    def show(self, x: float) -> str:
        return repr(float(x))
