"""float64 with the methods of `Field`: one evaluator serves both. The leading axis of draws has length one."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


_FUNCTIONS: dict[str, Any] = {
    "neg": np.negative,
    "inv": lambda x: 1.0 / x,
    "exp": np.exp,
    "exp2": np.exp2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "tanh": np.tanh,
    "erf": _erf,
    "log": np.log,
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
    "finite": lambda x: np.where(np.isneginf(x), 0.0, x),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "sub": np.subtract,
    "div": np.divide,
}


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

    def _chain(self, fn: Any, xs: tuple[Array, ...]) -> Array:
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
        if name in ("add", "mul", "where"):
            return np.asarray(getattr(self, name)(*xs))
        if name in ("and", "or", "not"):
            flags = [self.truth(x) for x in xs]
            return np.asarray(~flags[0] if name == "not" else getattr(np, f"logical_{name}")(*flags))
        with np.errstate(all="ignore"):
            xs = tuple(x.astype(np.int64) if x.dtype == bool else x for x in xs)
            if name not in ("neg", "abs", "maximum", "minimum", "lt", "le", "eq", "sub"):
                xs = tuple(x.astype(np.float64) for x in xs)
            return np.asarray(_FUNCTIONS[name](*xs))

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

    def show(self, x: Any) -> str:
        return repr(float(x))
