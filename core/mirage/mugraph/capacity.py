"""What a block needs of its multiprocessor: live tiles, registers, shared memory. Estimates, in bytes.

The model: computed tiles and accumulators live in registers as float32, loaded tiles in the tensor's dtype. What a dot
reads goes through shared memory; a load that a loop's dot reads directly is pipelined, once for each stage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mirage.mugraph.grammar import Accumulate, BlockGraph, Load, Loop, MuGraph, Statement, ThreadGraph
from mirage.mugraph.walk import Part, computes, reads, writes
from mirage.program.ir import DTYPES

FLOAT32 = 4


@dataclass(frozen=True)
class Usage:
    """Bytes of one block: `live` the largest sum of tiles alive at once, `accumulators` the largest sum of accumulators
    alive at once, `shared` the shared memory; `at` the statement (its result's name) where `live` peaks."""

    live: int
    accumulators: int
    shared: int
    at: str
    largest_tile: int  # elements


def elements(graph: BlockGraph, dims: tuple[str, ...]) -> int:
    """Elements of a tile."""
    return math.prod(graph.dim(d).tile for d in dims)


def tile_bytes(m: MuGraph, graph: BlockGraph, s: Statement) -> int:
    """Bytes of the tile that a statement binds (0 for a store)."""
    if isinstance(s, Load):
        return elements(graph, s.dims) * DTYPES[m.tensor(s.tensor).dtype][0]
    return elements(graph, s.dims) * FLOAT32 if writes(s) else 0  # type: ignore[union-attr]


def _last_reads(body: tuple[Statement | Loop, ...]) -> dict[str, int]:
    """For each name, the last position in a body where it is read (anywhere inside a loop counts as the loop)."""
    last: dict[str, int] = {}
    for i, item in enumerate(body):
        for s in item.body if isinstance(item, Loop) else (item,):
            for r in reads(s):
                last[r.removesuffix("@old")] = i
    return last


class _Meter:
    """Walks a block in order and keeps what is alive."""

    def __init__(self, m: MuGraph, graph: BlockGraph) -> None:
        self.m, self.graph = m, graph
        self.alive: dict[str, int] = {}
        self.acc: dict[str, int] = {}
        self.live = self.accumulators = 0
        self.at = ""

    def note(self, name: str) -> None:
        total = sum(self.alive.values()) + sum(self.acc.values())
        if total > self.live:
            self.live, self.at = total, name
        self.accumulators = max(self.accumulators, sum(self.acc.values()))

    def straight(self, items: tuple[Statement | Loop, ...], keep: frozenset[str]) -> None:
        last = _last_reads(items)
        for i, item in enumerate(items):
            if isinstance(item, Loop):
                for s in item.body:
                    if isinstance(s, Accumulate):
                        self.acc[s.out] = tile_bytes(self.m, self.graph, s)
                outer = dict(self.alive)
                self.straight(item.body, frozenset(outer) | frozenset(self.acc))
                self.alive = outer
            elif not isinstance(item, Accumulate) and (out := writes(item)):
                self.alive[out] = tile_bytes(self.m, self.graph, item)
                self.note(out)
            else:
                self.note(writes(item) or "a store")
            for store in (self.alive, self.acc):
                for name in [n for n in store if n not in keep and last.get(n, -1) <= i]:
                    del store[name]


def shared_bytes(m: MuGraph, graph: BlockGraph, stages: int) -> int:
    """Shared memory: operands of dots outside loops, and the loop that needs most."""
    loaded = {s.out: s for item in graph.body for s in (item.body if isinstance(item, Loop) else (item,))
              if isinstance(s, Load)}
    dims = {writes(s): s for item in graph.body for s in (item.body if isinstance(item, Loop) else (item,))}

    def operand(name: str, inner: frozenset[str], copies: int) -> int:
        s = dims.get(name)
        if s is None:
            return 0
        if name in loaded:
            return tile_bytes(m, graph, s) * (copies if name in inner else 1)
        return elements(graph, s.dims) * 2  # type: ignore[union-attr]  # a computed operand goes in at half precision

    outside, most = 0, 0
    for item in graph.body:
        body = item.body if isinstance(item, Loop) else (item,)
        inner = frozenset(s.out for s in body if isinstance(s, Load)) if isinstance(item, Loop) else frozenset()
        names = dict.fromkeys(a for s in body for c in computes(s) if c.op == "dot" for a in c.args)
        need = sum(operand(a, inner, stages) for a in names)
        if isinstance(item, Loop):
            most = max(most, need)
        else:
            outside = max(outside, need)
    return max(most, outside)


def usage(m: MuGraph, part: Part) -> Usage:
    """The estimate for one block graph."""
    meter = _Meter(m, part.graph)
    meter.straight(part.graph.body, frozenset())
    largest = 0
    for item in part.graph.body:
        for s in item.body if isinstance(item, Loop) else (item,):
            tiles = [c.dims for c in s.body] if isinstance(s, ThreadGraph) else [getattr(s, "dims", ())]
            largest = max([largest, *(elements(part.graph, d) for d in tiles)])
    shared = shared_bytes(m, part.graph, part.kernel.stages)
    return Usage(meter.live, meter.accumulators, shared, meter.at, largest)
