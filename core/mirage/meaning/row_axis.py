"""A term with a dim of size one read along an axis of its own (a row that is padded for a matrix instruction)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from mirage.ir.index import DimIndex
from mirage.meaning.exp_shift import substitute
from mirage.meaning.nodes import Input
from mirage.meaning.terms import Terms

_Item = TypeVar("_Item")
Dims = tuple[tuple[str, ...], ...]


def along(t: Terms, x: int, place: Mapping[str, int], row: str) -> int:
    """The term with each input in `place` read along the axis `row` at that dim, where it was read at index 0."""
    leaves: dict[int, int] = {}
    for y in list(t.walk(x)):
        n = t.node(y)
        if isinstance(n, Input) and n.name in place:
            read = with_item(n.index, place[n.name], DimIndex((row,)))
            leaves[y] = t.input(n.name, read, boolean=n.name in t.bool_inputs)
    return substitute(t, x, leaves)


def last_single(dims: Dims) -> int:
    """The last dim without an axis."""
    return max(i for i, axes in enumerate(dims) if not axes)


def with_item(items: tuple[_Item, ...], place: int, item: _Item) -> tuple[_Item, ...]:
    return (*items[:place], item, *items[place + 1 :])
