"""Enumeration of graphs without pruning, to compare with: every way to put operators one after the other, one graph after another.

It is what a search over graphs does when nothing says which of them can still lead to the program: a graph grows by any
operator over any of its tensors, in one order of operators, no tensor twice, and whether it computes the program is asked at the
end. The operators are those that RMSNorm+Linear needs (so that the count is a lower bound of what a full table would give).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from workloads.terms import problem

from mirage.meaning.terms import Terms
from mirage.search.problem import fork


@dataclass
class Found:
    """`graphs` visited in `seconds`; `hits` of them compute the program; `whole`: every graph of the size was visited."""

    graphs: int
    hits: int
    seconds: float
    whole: bool


def steps(t: Terms, have: list[int]) -> Iterator[tuple[tuple[int, int, int], int]]:
    """Every value that one operator makes of those in `have`, by the operator's place in their order: the newest operand first,
    so that what reads a new tensor comes after what does not."""
    for j, y in enumerate(have):
        for i, x in enumerate(have[: j + 1]):
            yield (j, i, 0), t.mul(x, y)
            yield (j, i, 1), t.add(x, y)
            if len(t.dims(x) | t.dims(y)) == 3:
                yield (j, i, 2), t.sum("k", t.mul(x, y))  # a contraction with its accumulator
        if "k" in t.dims(y):
            yield (j, j, 3), t.sum("k", y)
            yield (j, j, 4), t.mul(t.inv(t.size("k")), t.sum("k", y))
        yield (j, j, 5), t.inv(t.sqrt(t.add(y, t.literal(1e-6))))


def enumerate_graphs(name: str, most: int, seconds: float) -> Found:
    """Depth first over graphs of at most `most` operators (inputs and the output count), until `seconds` have passed."""
    p = problem(name)
    t, target = fork(p.t), p.outputs[0].term
    inputs = [x for x in sorted(t.walk(target)) if t.kind(x) == "in"]
    found = Found(0, 0, 0.0, True)
    start = time.process_time()

    def grow(have: list[int], last: tuple[int, int, int], left: int) -> None:
        found.graphs += 1
        found.hits += target in have
        if not left:
            return
        for place, x in list(steps(t, have)):
            if time.process_time() - start > seconds:
                found.whole = False
                return
            if place > last and x not in have:
                grow([*have, x], place, left - 1)

    grow(inputs, (-1, -1, -1), most - len(inputs) - 1)
    found.seconds = time.process_time() - start
    return found
