"""Tile dims of a block, from the axes: batch axes (tile 1), one dim for each side of the contractions, the rest.

Everything follows from how the contractions use the axes; nothing here knows a workload.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from mirage.ir.index import DimIndex
from mirage.meaning.terms import Terms
from mirage.search.reassociation import products

Contractions = list[tuple[str, tuple[int, ...]]]  # (axis, factors along the axis)
Axes = frozenset[str]
Index = tuple[DimIndex, ...]
Sides = dict[str, list[tuple[str, ...] | None]]  # of an axis, for each product the axes of its side
EVEN = 128  # elements along the fastest dim that a tile takes without waste
FULL = 64  # rows of a tile that a warp group's matrix instruction fills


@dataclass(frozen=True)
class Layout:
    """`batch`: parallel axes that both operands of a contraction share; `groups`: the other parallel axes, each group
    one tile dim (flattened row-major); `inner`: bound axes, each its own tile dim; `dotted`: axes that a tensor-core
    contraction uses; `serial`: bound axes that both operands of a contraction over another axis share, so that a loop over
    them goes one by one; `turned`: some tensor with axes of the last group lies with another one fastest; `beside`: axes of
    a group that no reduction varies along."""

    batch: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    inner: tuple[str, ...]
    dotted: frozenset[str]
    serial: frozenset[str] = frozenset()
    turned: bool = False
    beside: frozenset[str] = frozenset()


def contractions(t: Terms, root: int) -> Contractions:
    """Every (axis, factors along the axis) of the sums in `root`, one for each product of a body."""
    found = []
    for r in sorted(t.closure(root)):
        n = t.reduction(r)
        for product in products(t, n.body) if n.op == "sum" else ():
            factors = tuple(f for f in t.flat("mul", (product,))[1] if n.axis in t.dims(f))
            if len(factors) > 1:
                found.append((n.axis, factors))
    return found


def components(axes: frozenset[str], sets: list[frozenset[str]]) -> list[frozenset[str]]:
    """The axes connected by occurring in one of `sets`."""
    parts: list[frozenset[str]] = []
    for a in sorted(axes):
        joined = [p for p in parts if any(a in s and p & s for s in sets)]
        merged = frozenset({a}).union(*joined)
        parts = [p for p in parts if p not in joined] + [merged]
    return parts


def _sides(t: Terms, axis: str, factors: tuple[int, ...], batch: frozenset[str]) -> list[frozenset[str]]:
    sets = [t.dims(f) - batch - {axis} for f in factors]
    return components(frozenset().union(*sets), sets)


def layout(t: Terms, root: int, parallel: tuple[str, ...], written: Sequence[Index] = ()) -> Layout:
    """The layout of a kernel that computes `root` for every element of its `parallel` axes (in output order). `written`: the indices
    of what it writes, which let a kernel that reduces nothing take axes together that follow each other in memory everywhere."""
    bound = tuple(dict.fromkeys(t.reduction(r).axis for r in sorted(t.closure(root))))
    free = tuple(a for a in parallel if a not in bound)
    if written and not bound:
        return _elementwise(t, root, free, written)
    todo = contractions(t, root)
    batch, serial = shared_axes(t, todo, free, bound)
    sides, dotted = sides_of(t, todo, [a for a in free if a not in batch], batch | serial)
    if not dotted:
        batch |= of_all_factors(t, todo) & set(free)
    batch |= {a for a, parts in sides.items() if filled(t, parts, set(bound))}
    sides = {a: s for a, s in sides.items() if a not in batch}
    batches = tuple(a for a in free if a in batch)
    if dotted & set(sides):
        return Layout(batches, by_side(sides), bound, dotted, serial)
    beside = apart(t, root, tuple(sides)) if not (dotted or batch) else ()
    groups = without_sides([a for a in sides if a not in beside], bound, batch)
    return Layout(batches, (*groups, *filter(None, [beside])), bound, dotted, serial, beside=frozenset(beside))


def _elementwise(t: Terms, root: int, free: tuple[str, ...], written: Sequence[Index]) -> Layout:
    """The layout of a kernel that reduces nothing."""
    groups = in_memory(free, [*written, *(n.index for n in t.reads(root))])
    across = turned(groups, t, root)
    if not across and all(axes_of(p) >= set(free) for p in written) and uneven(groups, t):
        groups = (free,)
    return Layout((), groups, (), frozenset(), turned=across)


def apart(t: Terms, root: int, axes: tuple[str, ...]) -> tuple[str, ...]:
    """The last of `axes`, as far as no reduction of `root` varies along them: a block may hold a row of them beside what it reduces
    (what a gate for each row multiplies, say). None where there is no reduction, or where that is all of them."""
    reduced = frozenset[str]().union(*(t.dims(r) for r in t.closure(root)))
    first = next((i for i in range(len(axes), 0, -1) if axes[i - 1] in reduced), len(axes))
    return axes[first:]


def shared_axes(t: Terms, todo: Contractions, free: tuple[str, ...], bound: tuple[str, ...]) -> tuple[Axes, Axes]:
    """The batch axes and the serial ones: without them the factors of each contraction fall apart into two sides."""
    batch: Axes = frozenset()
    serial: Axes = frozenset()
    for axis, factors in todo:
        wide = frozenset().union(*(t.dims(f) for f in factors)) - {axis} - batch
        if len(wide) < 2 or len(_sides(t, axis, factors, batch | serial)) >= 2:
            continue
        several = {a for a in wide if sum(a in t.dims(f) for f in factors) > 1}
        both = several & set(bound)
        if both and len(_sides(t, axis, factors, batch | serial | both)) >= 2:
            serial |= both
            continue
        shared = [a for a in free if a in several]
        tried = (set(c) for n in (1, 2, 3) for c in combinations(shared, n))
        batch |= next((c for c in tried if len(_sides(t, axis, factors, batch | c)) >= 2), set())
    return batch, serial


def sides_of(t: Terms, todo: Contractions, axes: list[str], common: Axes) -> tuple[Sides, Axes]:
    """The side of every matrix product on which each axis is (None: on none), and the axes that matrix products use."""
    sides: Sides = {a: [] for a in axes}
    dotted: set[str] = set()
    for axis, factors in todo:
        parts = _sides(t, axis, factors, common)
        if len(parts) >= 2:
            dotted |= {axis}.union(*parts)
            for a in sides:
                sides[a].append(next((tuple(sorted(p)) for p in parts if a in p), None))
    return sides, frozenset(dotted)


def filled(t: Terms, parts: Sequence[tuple[str, ...] | None], bound: set[str]) -> bool:
    """Whether bound axes fill a tile on every side of the products on which a parallel axis is, so that this axis needs none of it."""
    full = [math.prod(t.sizes[b] for b in part if b in bound) >= FULL for part in parts if part is not None]
    return bool(full) and all(full)


def of_all_factors(t: Terms, todo: Contractions) -> Axes:
    """The axes that all factors of a product have which is summed without a matrix product (one row of queries, say): they are
    batch axes."""
    found: Axes = frozenset()
    for axis, factors in todo:
        common = frozenset.intersection(*(t.dims(f) for f in factors)) - {axis}
        wide = frozenset().union(*(t.dims(f) for f in factors)) - {axis}
        if len(set(factors)) > 1 and wide - common:
            found |= common
    return found


def by_side(sides: Sides) -> tuple[tuple[str, ...], ...]:
    """Axes that are on the same side of every contraction share a tile dim."""
    groups: dict[object, list[str]] = {}
    for a in sides:
        key = tuple(s if s is None else i for i, s in enumerate(sides[a])), tuple(sides[a])
        groups.setdefault(key, []).append(a)
    return tuple(tuple(g) for g in groups.values())


def without_sides(rest: list[str], bound: tuple[str, ...], batch: Axes) -> tuple[tuple[str, ...], ...]:
    """The tile dims where no matrix product tells sides apart: all in one, or the last axis by itself where nothing is summed."""
    if len(rest) > 2 or (len(rest) == 2 and bound and not batch):
        return (tuple(rest),) if bound else (tuple(rest[:-1]), tuple(rest[-1:]))
    return tuple((a,) for a in rest)


def in_memory(free: tuple[str, ...], places: Sequence[Index]) -> tuple[tuple[str, ...], ...]:
    """The axes in one or two groups, where nothing is summed: the last axes that follow each other in memory in all of `places`,
    and those before them."""
    last = len(free) - 1
    while last > 0 and all(adjacent(free[last - 1], free[last], p) for p in places):
        last -= 1
    return tuple(g for g in (free[:last], free[last:]) if g)


def axes_of(place: Index) -> set[str]:
    return {a for d in place for a in d.axes}


def uneven(groups: tuple[tuple[str, ...], ...], t: Terms) -> bool:
    """Whether no tile of a fair size divides the last group of two: blocks then hold fewer elements than they have room for, and
    rows begin anywhere; in one group they are full."""
    n = math.prod(t.sizes[a] for a in groups[-1]) if len(groups) > 1 else 1
    return n & -n < min(n, EVEN)


def adjacent(a: str, b: str, place: Index) -> bool:
    """Whether an index has neither of two axes, or `b` right behind `a`, without an offset."""
    axes = [x for d in place for x in d.axes]
    if a not in axes and b not in axes:
        return True
    return (a, b) in pairwise(axes) and not any(d.offset for d in place if b in d.axes)


def turned(groups: tuple[tuple[str, ...], ...], t: Terms, root: int) -> bool:
    """Whether an input with axes of the last group lies with another one fastest."""
    orders = [[a for d in n.index for a in d.axes] for n in t.reads(root)]
    last = set(groups[-1]) if groups else set()
    return any(last & set(axes) and axes[-1] not in last for axes in orders)
