"""The value of a term in float64, by numpy: the reference for tests and for the float opinion on small sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mirage.meaning.terms import Terms

Array = np.ndarray[Any, np.dtype[Any]]


def read(
    source: Array, index: tuple[Any, ...], dims: tuple[str, ...], sizes: dict[str, int], pad: float = 0.0
) -> Array:
    """`source` at a term's index, as an array over `dims`; elements outside it are `pad`."""
    where: list[Array] = []
    inside: Array = np.ones([sizes[d] for d in dims], bool)
    for axis, d in enumerate(index):
        flat: Array = np.zeros([1] * len(dims), np.int64)
        for a in d.axes:
            line = np.arange(sizes[a]).reshape([sizes[a] if x == a else 1 for x in dims])
            flat = flat * sizes[a] + line
        flat = flat + d.offset
        ok = (flat >= 0) & (flat < source.shape[axis])
        inside = inside & ok
        where.append(np.clip(flat, 0, source.shape[axis] - 1))
    if not where:
        return np.array(np.broadcast_to(source, [sizes[d] for d in dims]))
    return np.asarray(np.where(inside, source[tuple(np.broadcast_arrays(*where))], pad))


def evaluate(
    t: Terms, x: int, inputs: dict[str, Array], dims: tuple[str, ...],
    functions: dict[str, Callable[..., Array]], sizes: dict[str, int] | None = None,
) -> Array:  # fmt: skip
    """`x` as an array over `dims` (one array dim an axis). `functions` gives the opaque functions by name (float64)."""
    sizes = sizes or t.sizes
    memo: dict[int, tuple[Array, tuple[str, ...]]] = {}

    def align(a: Array, have: tuple[str, ...], want: tuple[str, ...]) -> Array:
        order = [have.index(d) for d in want if d in have]
        shape = iter(np.transpose(a, order).shape)
        return np.transpose(a, order).reshape([next(shape) if d in have else 1 for d in want])

    def go(y: int) -> tuple[Array, tuple[str, ...]]:
        if y not in memo:
            memo[y] = compute(y)
        return memo[y]

    def compute(y: int) -> tuple[Array, tuple[str, ...]]:
        n = t.node(y)
        have = tuple(sorted(t.dims(y)))
        kind = n[0]
        if kind == "in":
            return read(inputs[n[1]], n[2], have, sizes), have
        if kind == "const":
            return np.asarray(float(n[1])), ()
        if kind == "lit":
            return np.asarray(float(n[1])), ()
        if kind == "ninf":
            return np.asarray(-np.inf), ()
        if kind == "size":
            return np.asarray(float(sizes[n[1]])), ()
        if kind == "index":
            flat: Array = np.zeros([1] * len(have))
            for a in n[1]:
                flat = flat * sizes[a] + np.arange(sizes[a]).reshape([sizes[a] if d == a else 1 for d in have])
            return np.broadcast_to(flat, [sizes[d] for d in have]), have
        if kind == "red":
            a, dims_in = go(n[3])
            a = np.broadcast_to(a, [sizes[d] for d in dims_in])
            axis = dims_in.index(n[2])
            return (np.sum if n[1] == "sum" else np.max)(a, axis=axis), tuple(d for d in dims_in if d != n[2])
        parts = [align(*go(k), have) for k in t.kids(y)]
        if kind == "add":
            return sum(parts[1:], parts[0]), have
        if kind == "mul":
            out: Array = np.asarray(1.0)
            select: Array = np.asarray(True)
            for k, a in zip(t.kids(y), parts, strict=True):
                if t.is_boolean(k):
                    select = select & (a != 0)
                else:
                    out = out * a
            return np.where(select, out, 0.0), have
        with np.errstate(all="ignore"):
            if kind == "inv":
                return 1.0 / parts[0], have
            if kind == "exp":
                return np.exp(parts[0]), have
            if kind == "sqrt":
                return np.sqrt(parts[0]), have
            return np.asarray(functions[n[1]](*parts), dtype=np.float64), have

    with np.errstate(all="ignore"):
        value, have = go(x)
        return np.array(np.broadcast_to(align(value, have, dims), [sizes[d] for d in dims]))
