"""Programs evaluated in an arithmetic (a `Field`, or `Floats`), at any sizes: terms here, µGraphs in `execute.py`.

Arrays have a leading axis of draws. Inputs are arrays of shape (draws or 1, *shape of the tensor).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from mirage.ir.index import DimIndex
from mirage.meaning.nodes import (
    Add,
    Apply,
    Const,
    FloatLiteral,
    Index,
    Input,
    Mul,
    NegInf,
    Reduce,
    Size,
)
from mirage.meaning.terms import Terms
from mirage.verify.semantics.arrays import Array, Selection
from mirage.verify.semantics.execute import Arithmetic, ExecutionFault, RunOutcome, evaluate_mugraph

__all__ = [
    "Arithmetic",
    "ExecutionFault",
    "RunOutcome",
    "TermEvaluator",
    "evaluate_mugraph",
    "evaluate_terms",
    "grid_index",
]


class Hook(Protocol):
    """Called with each maximum's value; what it gives takes its place."""

    def __call__(self, value: Array) -> Array: ...


def grid_index(axes: tuple[str, ...], dims: tuple[str, ...], sizes: Mapping[str, int]) -> Array:
    """The flattened row-major index along `axes`, as an int64 array over `dims` (one array axis each)."""
    total: Array = np.zeros((1,) * len(dims), np.int64)
    for a in axes:
        line = np.arange(sizes[a]).reshape([sizes[a] if d == a else 1 for d in dims])
        total = total * sizes[a] + line
    return total


class TermEvaluator:
    """Values of the terms of one arena, memoised. `of(x)` has the axes draws, then sorted(t.dims(x))."""

    def __init__(
        self,
        t: Terms,
        inputs: Mapping[str, Array],
        arithmetic: Arithmetic,
        sizes: Mapping[str, int] | None = None,
        on_max: Hook | None = None,
    ) -> None:
        self.t, self.inputs, self.a, self.on_max = t, inputs, arithmetic, on_max
        self.sizes = dict(t.sizes) | dict(sizes or {})
        self._memo: dict[int, Array] = {}

    def order(self, x: int) -> tuple[str, ...]:
        return tuple(sorted(self.t.dims(x)))

    def of(self, x: int) -> Array:
        """The value of `x`, evaluated bottom-up without recursion."""
        todo = [x]
        while todo:
            y = todo[-1]
            if y in self._memo:
                todo.pop()
                continue
            missing = [k for k in self.t.kids(y) if k not in self._memo]
            if missing:
                todo.extend(missing)
                continue
            self._memo[y] = self._compute(y)
            todo.pop()
        return self._memo[x]

    def full(self, x: int, dims: tuple[str, ...]) -> Array:
        """The value broadcast over `dims` in that order."""
        value = self._spread(x, tuple(sorted(dims)))
        shape = (value.shape[0], *(self.sizes[d] for d in sorted(dims)))
        order = [1 + sorted(dims).index(d) for d in dims]
        return np.transpose(np.broadcast_to(value, shape), [0, *order])

    def _spread(self, x: int, dims: tuple[str, ...]) -> Array:
        value = self._memo.get(x)
        value = self.of(x) if value is None else value
        have = self.t.dims(x)
        lengths = iter(value.shape[1:])
        return np.asarray(value.reshape(value.shape[0], *(next(lengths) if d in have else 1 for d in dims)))

    def read(self, name: str, index: tuple[DimIndex, ...], dims: tuple[str, ...]) -> Array:
        """An input indexed by axes. The parts of a concatenation are read outside their bounds too: NaN stands there
        (0 for flags and integers), which shows unless a condition leaves it out."""
        array = self.inputs[name]
        where = [np.asarray(grid_index(d.axes, dims, self.sizes) + d.offset) for d in index]
        if not where:
            return np.asarray(array)
        lengths = array.shape[1:]
        outside = [w for w, n in zip(where, lengths, strict=True) if w.min() < 0 or w.max() >= n]
        if any(n == 0 for n in lengths):
            raise ExecutionFault(f"input {name} has shape {lengths}")
        every: Selection = (slice(None), *(np.clip(w, 0, n - 1) for w, n in zip(where, lengths, strict=True)))
        shape = (array.shape[0], *(self.sizes[d] for d in dims))
        out = np.broadcast_to(array[every], shape)
        if not outside:
            return out
        inside = np.ones(shape[1:], bool)
        for w, n in zip(where, lengths, strict=True):
            inside = inside & (w >= 0) & (w < n)
        exact = array.dtype == bool or array.dtype == np.int64
        blank = np.zeros(1, array.dtype) if exact else self.a.lift(self.a.literal(float("nan")))
        return np.where(inside, out, blank.reshape(-1, *(1,) * len(dims)))

    def _compute(self, x: int) -> Array:
        """A number has the axis of draws alone."""
        t, a = self.t, self.a
        dims = self.order(x)
        match t.node(x):
            case Input(name, index):
                value = self.read(name, index, dims)
                return np.asarray(a.truth(value) if name in t.bool_inputs else value)
            case Const(number):
                return a.const(number)
            case FloatLiteral(text):
                return a.literal(float(text))
            case NegInf():
                return a.neg_inf()
            case Size(axis):
                return a.const(self.sizes[axis])
            case Index(axes):
                return np.asarray(grid_index(axes, dims, self.sizes)[None])
            case Reduce(op, axis, body):
                place = 1 + self.order(body).index(axis)
                if op == "sum":
                    return a.sum(self._memo[body], place)
                value = a.max(self._memo[body], place)
                return value if self.on_max is None else self.on_max(value)
            case Add(parts):
                return a.add(*(self._spread(k, dims) for k in parts))
            case Mul(parts):
                return a.mul(*(self._spread(k, dims) for k in parts))
            case node:
                name = node.name if isinstance(node, Apply) else node.kind
                return a.fn(name, *(self._spread(k, dims) for k in node.kids))


def evaluate_terms(
    t: Terms,
    roots: Iterable[tuple[int, tuple[str, ...]]] | Iterable[int],
    inputs: Mapping[str, Array],
    arithmetic: Arithmetic,
    sizes: Mapping[str, int] | None = None,
    on_max: Hook | None = None,
) -> list[Array]:
    """The values of `roots`: terms, or (term, axes in the output's order). `sizes` replaces sizes of `t.sizes`.

    Shapes: (draws, sizes of sorted(t.dims(x))) for a term, (draws, sizes of the axes) for a pair.
    """
    e = TermEvaluator(t, inputs, arithmetic, sizes, on_max)
    out = []
    for r in roots:
        if isinstance(r, tuple):
            out.append(e.full(r[0], r[1]))
        else:
            out.append(e.full(r, e.order(r)))
    return out
