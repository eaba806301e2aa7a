"""Launch variants that a GPU times: the cost model's best µGraphs, the best of each structure, and what is near the fastest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from mirage.mugraph.block_facts import facts_of
from mirage.mugraph.grammar import CustomKernel, Loop, MuGraph
from mirage.mugraph.walk import parts

WARPS = (4, 8)
STREAMED = ((8, 1), (16, 1))  # warps and stages of a kernel that reads long rows and multiplies no matrices
MORE_WARPS = (1, 2, 4, 8, 16)  # of the fastest
STAGES = (3, 4, 5, 1)  # the first is every candidate's own
EACH, HOPELESS = 2, 2.0  # candidates of each arrangement, unless the model gives them so many times its best time
Plan = Callable[[MuGraph], MuGraph]


class Ranked(Protocol):
    """A search's candidate."""

    @property
    def mugraph(self) -> MuGraph: ...
    @property
    def us(self) -> float: ...
    @property
    def structure(self) -> str: ...
    @property
    def label(self) -> str: ...


@dataclass(frozen=True)
class Variant:
    """A candidate with chosen warps and stages (`warps` 0: its own). `rank` is its place in the model's order, `us` what
    the model says of it."""

    rank: int
    mugraph: MuGraph
    us: float
    structure: str
    label: str
    warps: int
    stages: int
    other: bool = False  # its tiles are loaded the other way than the plan says

    @property
    def name(self) -> str:
        loads = ", other loads" if self.other else ""
        return f"{self.label}, {self.warps or 'its own'} warps, {self.stages} stages{loads}"


def arrangement(mugraph: MuGraph) -> tuple[tuple[int, bool], ...]:
    """What µGraphs of different terms and tiles have in common: of each kernel its number of loops, and whether it is split."""
    customs = [k for k in mugraph.kernels if isinstance(k, CustomKernel)]
    return tuple(
        (sum(isinstance(s, Loop) for s in k.block.body), any(d.role == "split" for d in k.block.dims)) for k in customs
    )


def chosen(best: Sequence[Ranked], count: int, structures: int) -> list[int]:
    """The ranks to measure: the first `count`, the best of each of the first `structures` structures, and the first `EACH` of
    each arrangement: there the model errs most."""
    first: dict[str, int] = {}
    alike: dict[object, list[int]] = {}
    for rank, c in enumerate(best):
        first.setdefault(c.structure, rank)
        alike.setdefault(arrangement(c.mugraph), []).append(rank)
    few = [rank for ranks in alike.values() for rank in ranks[:EACH] if best[rank].us <= HOPELESS * best[0].us]
    return sorted({*range(min(count, len(best))), *list(first.values())[:structures], *few})


def tiling(mugraph: MuGraph) -> dict[tuple[int, tuple[str, ...]], object]:
    """What tells µGraphs of one arrangement apart: of each kernel that loops (of all, if none does) each dim's role and tile, and
    the split with its way of combining. The kernel that combines follows from the one that it combines for."""
    customs = [k for k in mugraph.kernels if isinstance(k, CustomKernel)]
    looping = [k for k in customs if any(isinstance(s, Loop) for s in k.block.body)]
    found: dict[tuple[int, tuple[str, ...]], object] = {}
    for i, k in enumerate(looping or customs):
        for d in k.block.dims:
            found[i, d.axes] = (d.parts, k.tail is not None) if d.role == "split" else (d.role, d.tile)
    return found


def apart(a: MuGraph, b: MuGraph) -> int:
    """In how many dims two µGraphs differ."""
    x, y = tiling(a), tiling(b)
    return sum(x.get(k) != y.get(k) for k in {*x, *y})


def neighbors(
    best: Sequence[Ranked], plan: Plan, fastest: Sequence[Variant], known: Collection[int], most: int
) -> list[Variant]:
    """Of each tiling that no `known` rank has and that differs from one of the fastest in one dim, the first, launched as that one:
    the model errs about whole regions, and measured times lead from one tile to the next."""
    seen = {_key(best[i].mugraph) for i in known}
    found: list[tuple[int, int, int]] = []
    for i, c in enumerate(best):
        if _key(c.mugraph) in seen:
            continue
        near = next((v for v in fastest if apart(c.mugraph, best[v.rank].mugraph) == 1), None)
        if near is not None:
            seen.add(_key(c.mugraph))
            found.append((i, near.warps, near.stages))
    return _distinct(best, plan, found[:most])


def _key(mugraph: MuGraph) -> frozenset[object]:
    return frozenset(tiling(mugraph).items())


def with_launch(mugraph: MuGraph, warps: int, stages: int) -> MuGraph:
    """The µGraph with other warps (0: its own) and stages in all its kernels."""
    kernels = tuple(
        replace(k, warps=warps or k.warps, stages=stages) if isinstance(k, CustomKernel) else k for k in mugraph.kernels
    )
    return replace(mugraph, kernels=kernels)


def streams(mugraph: MuGraph) -> bool:
    """Whether a kernel loops and none has a matrix product. Copies ahead of a loop go through shared memory, and rows that begin
    anywhere are copied in pieces of a few bytes: many warps that load straight into registers may be twice as fast."""
    facts = [facts_of(p.graph.body) for p in parts(mugraph)]
    looped = any(i.loop is not None for f in facts for i in f.items)
    return looped and not any(i.dots for f in facts for i in f.items)


def first_launches(mugraph: MuGraph) -> Sequence[tuple[int, int]]:
    """The warps and stages with which a leading candidate is timed beside its own."""
    return STREAMED if streams(mugraph) else [(warps, STAGES[0]) for warps in WARPS]


def leads(best: Sequence[Ranked], plan: Plan, count: int, structures: int) -> list[Variant]:
    """The `chosen` candidates, planned: each with its own warps, then the first `count` with their `first_launches`; none twice."""
    wanted = [(rank, 0, STAGES[0]) for rank in chosen(best, count, structures)]
    others = [first_launches(c.mugraph) for c in best[:count]]
    wanted += [(rank, *launches[i]) for i in range(len(WARPS)) for rank, launches in enumerate(others)]
    return _distinct(best, plan, wanted)


def closer(
    best: Sequence[Ranked],
    plan: Plan,
    fastest: Sequence[Variant],
    known: Collection[int],
    more: int,
    other: Plan | None = None,
) -> list[Variant]:
    """What is near the fastest of those: each with every number of stages, with other warps, with its tiles loaded the `other` way, and
    `more` candidates whose rank is not yet `known` that have the structure of one of them."""
    wanted = [(v.rank, v.warps, stages) for v in fastest for stages in STAGES]
    wanted += [(v.rank, warps, v.stages) for v in fastest for warps in MORE_WARPS]
    alike = {v.structure for v in fastest}
    others = [i for i, c in enumerate(best) if c.structure in alike and i not in known]
    found = _distinct(best, plan, [*wanted, *((i, 0, STAGES[0]) for i in others[:more])])
    return [*found, *(turned(fastest, other) if other is not None else ())]


def turned(variants: Sequence[Variant], other: Plan) -> list[Variant]:
    """Those with their tiles loaded the other way, where there is one."""
    pairs = [(v, other(v.mugraph)) for v in variants]
    return [replace(v, mugraph=m, other=not v.other) for v, m in pairs if m != v.mugraph]


def _distinct(best: Sequence[Ranked], plan: Plan, wanted: Sequence[tuple[int, int, int]]) -> list[Variant]:
    found: dict[MuGraph, Variant] = {}
    for rank, warps, stages in wanted:
        c = best[rank]
        graph = plan(with_launch(c.mugraph, warps, stages))
        found.setdefault(graph, Variant(rank, graph, c.us, c.structure, c.label, warps, stages))
    return list(found.values())
