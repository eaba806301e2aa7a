"""An axis taken as a pair: blocks of it, and the places within a block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mirage.meaning.nodes import Index, Input, Reduce, Size
from mirage.meaning.terms import Terms


def in_pairs(axes: Iterable[str], axis: str, part: str, rest: str) -> tuple[str, ...]:
    """`axes` with (part, rest), part major, in the place of `axis`."""
    return tuple(b for a in axes for b in ((part, rest) if a == axis else (a,)))


def split_axis(t: Terms, x: int, axis: str, part: str, rest: str, memo: dict[int, int] | None = None) -> int:
    """`x` with `axis` = (part, rest), part major: sums and maxima over it become nested ones."""
    memo = {} if memo is None else memo
    if x in memo:
        return memo[x]
    match t.node(x):
        case Input(name, index):
            split = tuple(replace(d, axes=in_pairs(d.axes, axis, part, rest)) for d in index)
            out = t.input(name, split, boolean=name in t.bool_inputs)
        case Size(over) if over == axis:
            out = t.mul(t.size(part), t.size(rest))
        case Index(along):
            out = t.index(in_pairs(along, axis, part, rest))
        case Reduce(op, over, body) if over == axis:
            reduce = t.sum if op == "sum" else t.max
            out = reduce(part, reduce(rest, split_axis(t, body, axis, part, rest, memo)))
        case n:
            kids = tuple(split_axis(t, k, axis, part, rest, memo) for k in n.kids)
            out = t.rebuild(x, kids) if kids else x
    memo[x] = out
    return out
