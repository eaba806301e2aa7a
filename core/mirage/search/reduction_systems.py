"""Reduction systems: every combination of moves, one placement for each reduction in topological order.

A system is a set of reductions and the output as a pointwise function of them. Which axis is streamed (a loop over
tiles) decides its passes. The number of systems is a product over reductions: `limit` bounds it, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mirage.meaning.nodes import Reduce
from mirage.meaning.terms import Terms
from mirage.results.progress import CancelToken
from mirage.search.reduction_moves import Moves


@dataclass(frozen=True)
class System:
    """`output` over `reductions` (ids, topological). `cancelling`: it subtracts large equal parts somewhere."""

    output: int
    reductions: frozenset[int]
    cancelling: bool = False


EFFORT = 3  # steps of one enumeration, in units of its limit; the largest workload takes 2.3


@dataclass
class SystemCounts:
    values: int = 0  # distinct reductions met (tensors up to equality)
    tried: int = 0  # placements tried
    exhaustive: bool = True


def enumerate_systems(
    moves: Moves, target: int, cancel: CancelToken, limit: int = 2000
) -> tuple[list[System], SystemCounts]:
    """All systems that compute `target`, the given one among them; `Counts.exhaustive` is False when `limit` cut: so many ways of
    one beginning, so many beginnings, or `EFFORT` times as many steps in all, where most lead to systems that are known.

    The moves begin from the target with its factors pushed inward; where a product has several sums that could take a factor,
    also from the other choices."""
    t = moves.t
    counts = SystemCounts()
    found: dict[frozenset[int], System] = {}
    starts = [moves.inward(target)]
    met = {t.closure(starts[0])}
    steps = 0
    for start in starts:
        if counts.tried + steps > EFFORT * limit:
            counts.exhaustive = False
            break
        for e in systems_from(moves, start, cancel, limit, counts):
            steps += 1
            reductions = t.closure(e)
            cancelling = any(y in moves.cancelling for y in t.walk(e))
            if reductions in found:
                continue
            found[reductions] = System(e, reductions, cancelling)
            if any(t.reduction(r).changes for r in reductions):
                continue
            for other in moves.pushes(e):
                if t.closure(other) in met:
                    continue
                if len(starts) == limit:
                    counts.exhaustive = False
                    break
                met.add(t.closure(other))
                starts.append(other)
    own = moves.spelled(target)
    found[t.closure(own)] = System(own, t.closure(own))  # as it is written, whatever it subtracts
    counts.values = len(frozenset[int]().union(*found))
    return list(found.values()), counts


def systems_from(moves: Moves, target: int, cancel: CancelToken, limit: int, counts: SystemCounts) -> Iterator[int]:
    """The outputs of all systems that the moves make from one spelling."""
    t = moves.t
    order = sorted(t.closure(target))
    states: dict[tuple[tuple[int, int], ...], None] = {(): None}
    for i, r in enumerate(order):
        live = frozenset().union(t.front(target), *(t.front(t.reduction(s).body) for s in order[i + 1 :]))
        new: dict[tuple[tuple[int, int], ...], None] = {}
        n = t.reduction(r)
        for state in states:
            cancel.check()
            for b in moves.merges(moves.collector.replace(n.body, dict(state))):
                for e in moves.options(n.op, n.axis, b):
                    counts.tried += 1
                    new[tuple(kv for kv in (*state, (r, e)) if kv[0] in live)] = None
            if len(new) > limit:
                counts.exhaustive = False
                break
        states = new
    for state in states:
        yield from moves.merges(moves.collector.replace(target, dict(state)))


def passes(t: Terms, reductions: frozenset[int], axis: str) -> dict[int, int] | None:
    """For each reduction, the pass over the streamed `axis` after which (over the axis: in which) it is complete; None if
    a carried one would have to wait for its atoms, which is the kept form again."""
    order: dict[int, int] = {}

    def front(x: int, stop: set[int]) -> set[int]:
        if x in stop:
            return set()
        if isinstance(t.node(x), Reduce):
            return {x}
        return set().union(*(front(k, stop) for k in t.kids(x)), ())

    for r in sorted(reductions):
        n = t.reduction(r)
        atoms = {t.change_of(y).atom for y in n.changes}
        kept = max([order[s] for s in front(n.body, atoms)], default=0)
        running = max([order[s] for u in atoms for s in t.front(u)], default=0)
        order[r] = max(1 + kept, running) if n.axis == axis else max(kept, running)
        if atoms and n.axis == axis:
            if running < order[r]:
                return None
            if any(order[s] != order[r] for s in t.siblings(r) if t.reduction(s).axis == axis):
                return None
    return order
