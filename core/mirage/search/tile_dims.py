"""Which axes become which tile dims of a block: batch axes (tile 1), one dim for each side of the contractions, the rest.

Everything follows from how the contractions use the axes; nothing here knows a workload.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from mirage.meaning.terms import Terms
from mirage.search.reassociation import products


@dataclass(frozen=True)
class Layout:
    """`batch`: parallel axes that both operands of a contraction share; `groups`: the other parallel axes, each group
    one tile dim (flattened row-major); `inner`: bound axes, each its own tile dim; `dotted`: axes that a tensor-core
    contraction uses; `serial`: bound axes that both operands of a contraction over another axis share, so that a loop over
    them goes one by one."""

    batch: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    inner: tuple[str, ...]
    dotted: frozenset[str]
    serial: frozenset[str] = frozenset()


def contractions(t: Terms, root: int) -> list[tuple[str, tuple[int, ...]]]:
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


def layout(t: Terms, root: int, parallel: tuple[str, ...]) -> Layout:
    """The layout of a kernel that computes `root` for every element of its `parallel` axes (in output order)."""
    bound = tuple(dict.fromkeys(t.reduction(r).axis for r in sorted(t.closure(root))))
    free = tuple(a for a in parallel if a not in bound)
    todo = contractions(t, root)
    batch: frozenset[str] = frozenset()
    serial: frozenset[str] = frozenset()
    for axis, factors in todo:
        wide = frozenset().union(*(t.dims(f) for f in factors)) - {axis} - batch
        if len(wide) < 2 or len(_sides(t, axis, factors, batch | serial)) >= 2:
            continue
        both = {a for a in bound if a in wide and sum(a in t.dims(f) for f in factors) > 1}
        if both and len(_sides(t, axis, factors, batch | serial | both)) >= 2:
            serial |= both
            continue
        shared = [a for a in free if a in wide and sum(a in t.dims(f) for f in factors) > 1]
        for n in (1, 2, 3):
            hit = next((c for c in combinations(shared, n) if len(_sides(t, axis, factors, batch | set(c))) >= 2), None)
            if hit is not None:
                batch |= set(hit)
                break
    sides: dict[str, list[object]] = {a: [] for a in free if a not in batch}
    dotted: set[str] = set()
    for axis, factors in todo:
        parts = _sides(t, axis, factors, batch | serial)
        if len(parts) >= 2:
            dotted |= {axis}.union(*parts)
            for a in sides:
                sides[a].append(next((tuple(sorted(p)) for p in parts if a in p), None))
    if not dotted:
        # products summed without a matrix product (one row of queries, say): an axis of all factors is a batch axis
        for axis, factors in todo:
            common = frozenset.intersection(*(t.dims(f) for f in factors)) - {axis}
            wide = frozenset().union(*(t.dims(f) for f in factors)) - {axis}
            if len(set(factors)) > 1 and wide - common:
                batch |= common & set(free)
    sides = {a: s for a, s in sides.items() if a not in batch}
    groups: dict[object, list[str]] = {}
    if dotted & set(sides):
        for a in sides:
            # axes that are on the same side of every contraction share a tile dim
            key = tuple(s if s is None else i for i, s in enumerate(sides[a])), tuple(sides[a])
            groups.setdefault(key, []).append(a)
    else:
        rest = [a for a in free if a not in batch]
        if len(rest) > 2 or (len(rest) == 2 and len(bound) > 0 and not batch):
            last_alone = not bound
            groups["rows"] = rest[:-1] if last_alone else rest
            if last_alone:
                groups["columns"] = rest[-1:]
        else:
            groups = {a: [a] for a in rest}
    return Layout(
        tuple(a for a in free if a in batch), tuple(tuple(g) for g in groups.values()), bound, frozenset(dotted), serial
    )
