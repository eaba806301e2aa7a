"""The value of a term in float64, by numpy: the reference for tests and for the float opinion on small sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mirage.meaning.nodes import (
    Add,
    Apply,
    Const,
    Exp,
    FloatLiteral,
    Index,
    Input,
    Inv,
    Mul,
    NegInf,
    Node,
    Reduce,
    Size,
    Sqrt,
)
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

    def leaf(n: Node, have: tuple[str, ...]) -> Array | None:
        match n:
            case Input(name, index):
                return read(inputs[name], index, have, sizes)
            case Const(number):
                return np.asarray(float(number))
            case FloatLiteral(text):
                return np.asarray(float(text))
            case NegInf():
                return np.asarray(-np.inf)
            case Size(axis):
                return np.asarray(float(sizes[axis]))
            case Index(axes):
                flat: Array = np.zeros([1] * len(have))
                for a in axes:
                    flat = flat * sizes[a] + np.arange(sizes[a]).reshape([sizes[a] if d == a else 1 for d in have])
                return np.broadcast_to(flat, [sizes[d] for d in have])
        return None

    def product(kids: tuple[int, ...], parts: list[Array]) -> Array:
        out: Array = np.asarray(1.0)
        select: Array = np.asarray(True)
        for k, a in zip(kids, parts, strict=True):
            if t.is_boolean(k):
                select = select & (a != 0)
            else:
                out = out * a
        return np.where(select, out, 0.0)

    def compute(y: int) -> tuple[Array, tuple[str, ...]]:
        n = t.node(y)
        have = tuple(sorted(t.dims(y)))
        found = leaf(n, have)
        if found is not None:
            return found, have
        if isinstance(n, Reduce):
            a, dims_in = go(n.body)
            a = np.broadcast_to(a, [sizes[d] for d in dims_in])
            return (np.sum if n.op == "sum" else np.max)(a, axis=dims_in.index(n.axis)), have
        parts = [align(*go(k), have) for k in n.kids]
        with np.errstate(all="ignore"):
            match n:
                case Add():
                    return sum(parts[1:], parts[0]), have
                case Mul(kids):
                    return product(kids, parts), have
                case Inv():
                    return 1.0 / parts[0], have
                case Exp():
                    return np.exp(parts[0]), have
                case Sqrt():
                    return np.sqrt(parts[0]), have
                case Apply(name):
                    return np.asarray(functions[name](*parts), dtype=np.float64), have
        raise TypeError(f"a term without a value: {n}")

    with np.errstate(all="ignore"):
        value, have = go(x)
        return np.array(np.broadcast_to(align(value, have, dims), [sizes[d] for d in dims]))
