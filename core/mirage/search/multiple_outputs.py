"""Several tensors from one kernel: an output saver each, over one grid, what they share computed once.

The kernel computes the tuple of their terms, which the reduction systems take like any other term. Where one of them lacks an
axis of the grid, the first block along it writes (`Store.first`). Tensors that vary along different axes of equal size
(queries and keys of one sequence, say) are brought to the axes of one of them, so that they are read and computed alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

from mirage.ir.index import DimIndex
from mirage.meaning.nodes import Input, Reduce
from mirage.meaning.terms import Terms
from mirage.search.kernel_pieces import Target

TUPLE = "tuple"
Takes = Mapping[str, Sequence[str]]
NONE: Takes = {}
RENAMINGS = 64  # ways to name one tensor's axes as another's that are looked at


def independent(t: Terms, targets: Sequence[Target], takes: Takes = NONE) -> list[frozenset[str]]:
    """For each target the tensors that must be there before it, directly or not; `takes` says what those need that calls
    give."""
    reads = {x.tensor: t.inputs(x.term) for x in targets} | {x: frozenset(y) for x, y in takes.items()}
    needs: dict[str, frozenset[str]] = {}

    def of(tensor: str) -> frozenset[str]:
        if tensor not in needs:
            own = reads.get(tensor, frozenset())
            needs[tensor] = own.union(*(of(r) for r in own))
        return needs[tensor]

    return [of(x.tensor) for x in targets]


def groups(t: Terms, targets: Sequence[Target], takes: Takes = NONE) -> list[tuple[Target, ...]]:
    """Targets that one kernel can compute, none of which needs another, with a tensor that all of them read."""
    needs = dict(zip((x.tensor for x in targets), independent(t, targets, takes), strict=True))
    found: list[list[Target]] = []
    for x in targets:
        for g in found:
            apart = all(x.tensor not in needs[y.tensor] and y.tensor not in needs[x.tensor] for y in g)
            shared = frozenset.intersection(*(t.inputs(y.term) for y in (*g, x)))
            if apart and shared and joint(t, [*g, x]) is not None:
                g.append(x)
                break
        else:
            found.append([x])
    return [tuple(g) for g in found if len(g) > 1]


def groupings(t: Terms, targets: Sequence[Target], takes: Takes = NONE) -> list[list[Target]]:
    """The targets one by one; with each group in one kernel; with every group in one."""
    every = groups(t, targets, takes)
    choices = [[g] for g in every] + ([every] if len(every) > 1 else [])
    found = (together(t, targets, c, takes) for c in choices)
    return [list(targets), *(x for x in found if x)]


def together(
    t: Terms, targets: Sequence[Target], chosen: Sequence[tuple[Target, ...]], takes: Takes = NONE
) -> list[Target]:
    """The targets in launch order, with each of the `chosen` groups as one; none where two groups need each other."""
    inside = {x.tensor for g in chosen for x in g}
    todo = [x for x in targets if x.tensor not in inside]
    todo += [found for g in chosen if (found := joint(t, g)) is not None]
    made = {x.tensor for x in targets}
    through = dict(zip((x.tensor for x in targets), independent(t, targets, takes), strict=True))
    out: list[Target] = []
    while todo:  # what a target reads comes first
        ready = next((x for x in todo if not any(through[y.tensor] & made for y in x.tensors)), None)
        if ready is None:
            return []
        todo.remove(ready)
        made -= {x.tensor for x in ready.tensors}
        out.append(ready)
    return out


def joint(t: Terms, members: Sequence[Target]) -> Target | None:
    """One target for all of `members`; None where the axes of none of them are those of all."""
    widest = max(members, key=lambda x: len(x.axes))
    terms: list[int] = []
    indices: list[tuple[DimIndex, ...]] = []
    for x in members:
        names = {} if x is widest else aligned(t, widest, x)
        here = [[names.get(a, a) for a in d] for d in x.dims]
        if not {a for d in here for a in d} <= set(widest.axes):
            return None
        terms.append(t.rename(x.term, names) if names else x.term)
        indices.append(tuple(DimIndex(tuple(d)) for d in here))
    return replace(
        members[0], tensor="_".join(x.tensor for x in members), term=t.fn(TUPLE, *terms), dims=widest.dims,
        members=tuple(members), indices=tuple(indices),
    )  # fmt: skip


def bound(t: Terms, x: int) -> list[str]:
    return list(dict.fromkeys(t.reduction(r).axis for r in sorted(t.closure(x))))


def aligned(t: Terms, base: Target, x: Target) -> dict[str, str]:
    """The axes of `x`, with those of `base` that they are read as: of all ways the one in which most is shared."""
    mine, theirs = bound(t, x.term), bound(t, base.term)
    own = {*x.axes, *mine}
    options: list[list[tuple[str, str] | None]] = []
    for a in dict.fromkeys((*x.axes, *mine)):
        there = theirs if a in mine else base.axes
        if a in x.axes and (a in base.axes or a in mine):
            continue
        if a in mine and a in theirs and a not in base.axes:
            continue
        options.append([None, *((a, b) for b in there if b not in own and t.sizes[b] == t.sizes[a])])
    have = shared_nodes(t, base.term)
    best: tuple[int, dict[str, str]] = (-1, {})
    for choice in islice(product(*options), RENAMINGS):
        names = dict(c for c in choice if c is not None)
        if len(set(names.values())) < len(names):
            continue
        score = len(names) + 1000 * len(have & shared_nodes(t, t.rename(x.term, names) if names else x.term))
        if score > best[0]:
            best = score, names
    return best[1]


def shared_nodes(t: Terms, x: int) -> set[int]:
    """The parts that terms may share: the tensors that they read, and their reductions."""
    return {y for y in t.walk(x) if isinstance(t.node(y), (Input, Reduce))}
