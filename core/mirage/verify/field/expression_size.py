"""Degrees and numbers of terms of a program's values as expressions, which the error bound's theorems ask for.

An arithmetic for the evaluators whose values are bounds on a quotient N / D of sums of exponential terms
(sum of f_i * e^(g_i)): kn, kd their numbers of exponential terms, dn, dd the degrees of the f_i, en, ed how many
exponentials are multiplied in one term, `picks` how many bits of choice (comparisons, maxima) decide which expression it is,
`key` the identity of the denominator (1: none).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np

from mirage.operators.block_operators import BLOCK
from mirage.verify.semantics.arrays import Array

Exact = Callable[..., Array]
COUNT = np.dtype(
    [
        ("kn", "f8"),
        ("dn", "f8"),
        ("kd", "f8"),
        ("dd", "f8"),
        ("en", "f8"),
        ("ed", "f8"),
        ("picks", "f8"),
        ("key", "u8"),
        ("exp", "?"),
        ("inf", "?"),
    ]
)


def _make(shape: tuple[int, ...], **fields: float | Array) -> Array:
    out = np.zeros(shape, COUNT)
    out["kn"], out["kd"], out["key"] = 1, 1, 1
    for name, v in fields.items():
        out[name] = v
    return out


class ExpressionCounts:
    """Figures of a whole run: `exps` (an exponential was met), `nested` (one inside another), `root_of_exp`,
    `exp_of_root`, `roots` (square roots taken, elements), `degree` (largest of an exponent), `oracles` (elements) with
    `oracle_degree` and `oracle_terms` of their arguments."""

    draws = 1

    def __init__(self, opaque: Iterable[str] = ("sigmoid",)) -> None:
        self.opaque = frozenset(opaque)
        self._rng = np.random.default_rng(1)
        self.exps = self.nested = self.root_of_exp = False
        self.roots = self.oracles = 0
        self.degree = self.oracle_degree = 0.0
        self.oracle_terms = 1.0
        self.overflow = False

    # ---- values
    def random(self, shape: tuple[int, ...]) -> Array:
        return _make((1, *shape), dn=1)

    def const(self, value: Fraction | int) -> Array:
        value = Fraction(value)
        if value.denominator == 1 and abs(value) < 1 << 31:
            return np.full((1,), int(value), np.int64)
        return _make((1,))

    def literal(self, value: float) -> Array:
        return self.neg_inf() if np.isinf(value) or np.isnan(value) else _make((1,), kn=float(value != 0))

    pad = literal

    def neg_inf(self) -> Array:
        return _make((1,), kn=0, inf=True)

    def lift(self, x: Array) -> Array:
        return x if x.dtype == COUNT else _make(x.shape, kn=(x != 0).astype(float))

    def truth(self, x: Array) -> Array:
        return x if x.dtype == bool else np.asarray((x["kn"] != 0) if x.dtype == COUNT else (x != 0))

    # ---- operators
    def _fold(
        self, xs: tuple[Array, ...], fn: Callable[[Array, Array], Array], exact: Callable[[Array, Array], Array]
    ) -> Array:
        if all(x.dtype != COUNT for x in xs):
            out = xs[0].astype(np.int64)
            for x in xs[1:]:
                out = exact(out, x.astype(np.int64))
            return np.asarray(out)
        total = self.lift(xs[0])
        for x in xs[1:]:
            total = fn(total, self.lift(x))
        return total

    def add(self, *xs: Array) -> Array:
        return self._fold(xs, self._add2, np.add)

    def _add2(self, a: Array, b: Array) -> Array:
        a, b = np.broadcast_arrays(a, b)
        out = np.zeros(a.shape, COUNT)
        same = a["key"] == b["key"]
        with np.errstate(over="ignore"):
            out["kn"] = np.where(same, a["kn"] + b["kn"], a["kn"] * b["kd"] + b["kn"] * a["kd"])
            out["dn"] = np.where(same, np.maximum(a["dn"], b["dn"]), np.maximum(a["dn"] + b["dd"], b["dn"] + a["dd"]))
            out["kd"] = np.where(same, a["kd"], a["kd"] * b["kd"])
            out["dd"] = np.where(same, a["dd"], a["dd"] + b["dd"])
            out["en"] = np.where(same, np.maximum(a["en"], b["en"]), np.maximum(a["en"] + b["ed"], b["en"] + a["ed"]))
            out["ed"] = np.where(same, a["ed"], a["ed"] + b["ed"])
            out["key"] = np.where(same, a["key"], a["key"] * b["key"])
        out["picks"] = a["picks"] + b["picks"]
        out["exp"] = a["exp"] | b["exp"]
        out["inf"] = a["inf"] | b["inf"]
        for x, y in ((a, b), (b, a)):  # zero is the neutral element
            zero = (x["kn"] == 0) & ~x["inf"]
            out[zero] = y[zero]
        return out

    def mul(self, *xs: Array) -> Array:
        flags = [x for x in xs if x.dtype == bool]
        rest = tuple(x for x in xs if x.dtype != bool)
        if not rest:
            return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*flags)))
        out = self._fold(rest, self._mul2, np.multiply)
        if not flags:
            return out
        keep = np.logical_and.reduce(np.broadcast_arrays(*flags))
        return np.where(keep, out, self.lift(np.zeros((1,), np.int64)) if out.dtype == COUNT else 0)

    def _mul2(self, a: Array, b: Array) -> Array:
        a, b = np.broadcast_arrays(a, b)
        out = np.zeros(a.shape, COUNT)
        with np.errstate(over="ignore"):
            for n in ("kn", "kd", "key"):
                out[n] = a[n] * b[n]
            for n in ("dn", "dd", "en", "ed", "picks"):
                out[n] = a[n] + b[n]
        out["exp"], out["inf"] = a["exp"] | b["exp"], a["inf"] | b["inf"]
        return out

    def inv(self, x: Array) -> Array:
        x = self.lift(x)
        out = x.copy()
        out["kn"], out["dn"], out["kd"], out["dd"] = x["kd"], x["dd"], np.maximum(x["kn"], 1), x["dn"]
        out["en"], out["ed"] = x["ed"], x["en"]
        plain = (x["kn"] <= 1) & (x["dn"] == 0)  # a number: nothing joins the denominator
        fresh = self._rng.integers(0, 1 << 62, x.shape, dtype=np.uint64) * np.uint64(2) + np.uint64(3)
        out["key"] = np.where(plain, np.uint64(1), fresh)
        return np.asarray(out)

    def exp(self, x: Array) -> Array:
        x = self.lift(x)
        live = ~x["inf"]
        self.exps = True
        self.nested |= bool((x["exp"] & live).any())
        if live.any():
            self.degree = max(self.degree, float((x["dn"] + x["dd"])[live].max()))
        return _make(x.shape, kn=live.astype(float), en=1, picks=x["picks"], exp=True)

    def sqrt(self, x: Array) -> Array:
        x = self.lift(x)
        self.root_of_exp |= bool(x["exp"].any())
        self.roots += int(((x["dn"] + x["dd"]) > 0).sum())
        out = x.copy()
        out["kn"] = np.minimum(x["kn"], 1)
        out["dn"] = np.ceil((x["dn"] + x["dd"]) / 2)
        return np.asarray(out)

    def _opaque(self, *xs: Array) -> Array:
        xs = tuple(np.broadcast_arrays(*(self.lift(x) for x in xs)))
        self.oracles += xs[0].size
        for x in xs:
            self.oracle_degree = max(self.oracle_degree, float((x["dn"] + x["dd"]).max(initial=0)))
            self.oracle_terms = max(self.oracle_terms, float((x["kn"] * x["kd"]).max(initial=1)))
        return _make(xs[0].shape, dn=1, picks=sum(x["picks"] for x in xs))

    def _choose(self, *xs: Array, bits: float = 1.0) -> Array:
        """One of several: the largest figures of all."""
        xs = tuple(np.broadcast_arrays(*(self.lift(x) for x in xs)))
        out = xs[0].copy()
        for x in xs[1:]:
            for n in ("kn", "dn", "kd", "dd", "en", "ed"):
                out[n] = np.maximum(out[n], x[n])
            out["key"] = np.where(out["key"] == x["key"], out["key"], out["key"] * x["key"])
            out["exp"] |= x["exp"]
            out["inf"] &= x["inf"]
        out["picks"] = sum(x["picks"] for x in xs) + bits
        return np.asarray(out)

    # ---- the methods that entries of the operator table name
    def sub(self, a: Array, b: Array) -> Array:
        return self.add(a, self.neg(b))

    def neg(self, x: Array) -> Array:
        return x if x.dtype == COUNT else np.asarray(-x.astype(np.int64))

    def div(self, a: Array, b: Array) -> Array:
        return self.mul(self.lift(a), self.inv(b))

    def sigmoid(self, x: Array) -> Array:
        return self._opaque(x) if "sigmoid" in self.opaque else self.inv(self.add(self.const(1), self.exp(x)))

    def abs(self, x: Array) -> Array:
        return self._choose(x)

    def finite(self, x: Array) -> Array:
        return x

    def maximum(self, a: Array, b: Array) -> Array:
        return self._pick(np.maximum, a, b)

    def minimum(self, a: Array, b: Array) -> Array:
        return self._pick(np.minimum, a, b)

    def _pick(self, exact: Exact, a: Array, b: Array) -> Array:
        return self._choose(a, b) if COUNT in (a.dtype, b.dtype) else np.asarray(exact(a, b))

    def lt(self, a: Array, b: Array) -> Array:
        return self._compare(np.less, a, b)

    def le(self, a: Array, b: Array) -> Array:
        return self._compare(np.less_equal, a, b)

    def quotient(self, a: Array, b: Array) -> Array:
        if COUNT not in (a.dtype, b.dtype) and bool((b != 0).all()):
            return np.asarray(np.floor_divide(a.astype(np.int64), b.astype(np.int64)))
        return np.asarray(self.fn("floor", self.div(a, b)))

    def eq(self, a: Array, b: Array) -> Array:
        return self._compare(np.equal, a, b)

    def _compare(self, exact: Exact, *xs: Array) -> Array:
        if any(x.dtype == COUNT for x in xs):
            return self._chosen(*xs)
        return np.asarray(exact(*(x.astype(np.int64) for x in xs)))

    def _chosen(self, *xs: Array) -> Array:
        """0 or 1 by a choice between its arguments."""
        out = self._choose(*xs)
        return _make(out.shape, picks=out["picks"])

    def conjunction(self, a: Array, b: Array) -> Array:
        return self._logic(np.logical_and, a, b)

    def disjunction(self, a: Array, b: Array) -> Array:
        return self._logic(np.logical_or, a, b)

    def negation(self, x: Array) -> Array:
        return self._logic(np.logical_not, x)

    def _logic(self, exact: Exact, *xs: Array) -> Array:
        if any(x.dtype == COUNT for x in xs):
            return self._chosen(*xs)
        return np.asarray(exact(*(self.truth(x) for x in xs)))

    def where(self, c: Array, a: Array, b: Array) -> Array:
        if c.dtype != COUNT:
            if COUNT in (a.dtype, b.dtype) and a.dtype != b.dtype:
                a, b = self.lift(a), self.lift(b)
            return np.where(self.truth(c), a, b)
        out = self._choose(a, b, bits=0.0)
        out = np.array(np.broadcast_to(out, np.broadcast_shapes(out.shape, c.shape)))
        out["picks"] += c["picks"]
        return out

    def fn(self, name: str, *xs: Array) -> Array:
        entry = BLOCK.get(name)
        value = None if entry is None else entry.in_field(self, *xs)
        if value is not None:
            return np.asarray(value)
        out = self._opaque(*xs)
        return self._chosen(out) if entry is not None and entry.flag else out

    def sum(self, x: Array, axis: int) -> Array:
        if x.dtype != COUNT:
            return np.asarray(x.astype(np.int64).sum(axis=axis))
        parts = np.moveaxis(x, axis, 0)
        out = parts[0]
        for part in parts[1:]:
            out = self._add2(out, part)
        return np.asarray(out)

    def max(self, x: Array, axis: int) -> Array:
        if x.dtype != COUNT:
            return np.asarray(x.max(axis=axis))
        return self._choose(*np.moveaxis(x, axis, 0), bits=float(np.log2(max(x.shape[axis], 1))))
