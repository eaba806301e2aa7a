"""Walks over a µGraph: every block, every statement with its place. Rules, maps, drawing and passes share them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from mirage.mugraph import old_value
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    Load,
    Loop,
    MuGraph,
    Statement,
    ThreadGraph,
    TileDim,
)


@dataclass(frozen=True)
class PlacedBlock:
    """A block graph and where it runs: a kernel's own block, or its tail (`role`)."""

    kernel: CustomKernel
    role: str  # "block" or "tail"
    graph: BlockGraph

    @property
    def where(self) -> str:
        return self.kernel.name if self.role == "block" else f"{self.kernel.name}.tail"


@dataclass(frozen=True)
class Site:
    """A statement and its place: `loop` is None outside loops, `position` the index in the part's body."""

    part: PlacedBlock
    loop: Loop | None
    position: int
    statement: Statement


def parts(mugraph: MuGraph) -> Iterator[PlacedBlock]:
    """Every block graph, in launch order, a tail after its block."""
    for k in mugraph.kernels:
        if isinstance(k, CustomKernel):
            yield PlacedBlock(k, "block", k.block)
            if k.tail is not None:
                yield PlacedBlock(k, "tail", k.tail)


def each_block(mugraph: MuGraph, change: Callable[[BlockGraph], BlockGraph]) -> MuGraph:
    """The µGraph with every block graph changed, tails too."""
    kernels = []
    for k in mugraph.kernels:
        if isinstance(k, CustomKernel):
            k = replace(k, block=change(k.block), tail=change(k.tail) if k.tail is not None else None)
        kernels.append(k)
    return replace(mugraph, kernels=tuple(kernels))


def sites(part: PlacedBlock) -> Iterator[Site]:
    """Every statement of a part in order, those of loops too."""
    for i, item in enumerate(part.graph.body):
        if isinstance(item, Loop):
            for s in item.body:
                yield Site(part, item, i, s)
        else:
            yield Site(part, None, i, item)


def computes(statement: Statement) -> tuple[Compute, ...]:
    """The block operators of a statement: itself, or a thread graph's body."""
    if isinstance(statement, Compute):
        return (statement,)
    return statement.body if isinstance(statement, ThreadGraph) else ()


def reads(statement: Statement) -> tuple[str, ...]:
    """The names of tiles that a statement reads (`NAME@old` as written), without a thread graph's inner names."""
    if isinstance(statement, Compute):
        return statement.args
    if isinstance(statement, ThreadGraph):
        inner = {c.out for c in statement.body}
        return tuple(dict.fromkeys(a for c in statement.body for a in c.args if a not in inner))
    if isinstance(statement, Accumulate):
        carried = tuple(x for c, acc in statement.update for x in (c, *((old_value.old(acc),) if acc else ())))
        return (statement.arg, *carried, *((statement.start,) if statement.start else ()))
    return () if isinstance(statement, Load) else (statement.tile,)


def writes(statement: Statement) -> str | None:
    """The name that a statement binds, if any (a store binds none)."""
    return getattr(statement, "out", None)


def size_of(mugraph: MuGraph, dim: TileDim) -> int:
    """The number of elements along a tile dim: the product of its axes' sizes."""
    n = 1
    for a in dim.axes:
        n *= mugraph.size(a)
    return n


def dims_of_axes(graph: BlockGraph) -> dict[str, TileDim]:
    """Which tile dim an axis belongs to (a split dim's own axis is its name)."""
    return {a: d for d in graph.dims for a in d.axes}
