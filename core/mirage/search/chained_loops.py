"""One accumulator fed by two loops: sum_k F + sum_l G, where the second loop goes on from what the first has summed.

The two sums need not have anything in common but the tile that they add up to. Neither may need the other's axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from mirage.meaning.exp_shift import substitute
from mirage.meaning.nodes import Add, Reduce
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import BlockGraph, TileDim
from mirage.search.block_builder import BlockBuilder, KernelOutput
from mirage.search.padding_values import PaddingStates
from mirage.search.reduction_systems import passes


@dataclass(frozen=True)
class Before:
    """The loop that comes first: its `axis`, its `sum`, the `total` of both sums, and the passes of the reductions of the
    first loop (`order`) and of the rest (`after`); `rest` is the total without the first sum."""

    axis: str
    sum: int
    total: int
    second: int
    rest: int
    order: dict[int, int] = field(compare=False, hash=False)
    after: dict[int, int] = field(compare=False, hash=False)


def chained(t: Terms, output: int) -> Iterator[tuple[str, Before]]:
    """Every pair of plain sums that `output` adds, over different axes, with the axis of the second."""
    for total in sorted(t.walk(output, into_reductions=False)):
        n = t.node(total)
        sums = [k for k in n.parts if plain_sum(t, k)] if isinstance(n, Add) else []
        for one, two in combinations(sums, 2):
            for first, second in ((one, two), (two, one)):
                found = pair(t, output, total, first, second)
                if found is not None:
                    yield t.reduction(second).axis, found
                    break  # the other order differs in nothing that the estimate sees


def plain_sum(t: Terms, x: int) -> bool:
    n = t.node(x)
    return isinstance(n, Reduce) and n.op == "sum" and not n.changes


def pair(t: Terms, output: int, total: int, first: int, second: int) -> Before | None:
    k, n = t.reduction(first).axis, t.reduction(second).axis
    if k == n or t.dims(first) != t.dims(second):
        return None
    rest = t.add(*[x for x in t.kids(total) if x != first])
    others = t.closure(substitute(t, output, {total: rest}))
    here = t.closure(first)
    if first in others or any(t.reduction(r).axis == k for r in others) or any(t.reduction(r).axis == n for r in here):
        return None
    order, after = passes(t, here, k), passes(t, others, n)
    if order is None or after is None or order[first] != 1:
        return None
    return Before(k, first, total, second, rest, order, after)


def two_loops(
    padding: PaddingStates, dims: tuple[TileDim, ...], streamed: str, before: Before, outputs: list[KernelOutput]
) -> BlockGraph:
    """The block graph of both loops. Raises CannotBuild."""
    t = padding.t
    one = BlockBuilder(padding, dims, before.axis, before.order)
    head = one.statements([], t.closure(before.sum))
    two = BlockBuilder(padding, dims, streamed, before.after)
    two.count = one.count  # names go on
    two.starts[before.second] = one.accumulator(before.sum)
    ends = [KernelOutput(o.tensor, substitute(t, o.term, {before.total: before.rest}), o.index) for o in outputs]
    needed = frozenset().union(*(t.closure(o.term) for o in ends))
    return BlockGraph(dims, (*head, *two.statements(ends, needed)))
