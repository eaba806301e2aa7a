"""The resources that a block needs of its multiprocessor: live tiles, registers, shared memory. Estimates, in bytes.

The model: computed tiles and accumulators live in registers as float32, loaded tiles in the tensor's dtype. What a dot
reads goes through shared memory, a load that a loop's dot reads is pipelined, and reductions exchange partial results
of warps. Calibrated against what Triton takes for sm_90 (tests/plan).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from mirage.ir.dtypes import DTYPES
from mirage.mugraph import old_value
from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, Load, Loop, MuGraph, Statement, ThreadGraph
from mirage.mugraph.walk import Part, computes, reads, writes

FLOAT32, HALF = 4, 2
WARP_GROUP, WARP_GROUP_ROWS = 4, 64  # warps of a group, and the rows of its matrix instruction
LEAST_DOT = 16  # the least extent of a matrix instruction's operand
REDUCTIONS = ("sum", "max")


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
        return elements(graph, s.dims) * DTYPES[m.tensor(s.tensor).dtype].bytes
    return elements(graph, s.dims) * FLOAT32 if writes(s) else 0  # type: ignore[union-attr]


def _last_reads(body: tuple[Statement | Loop, ...]) -> dict[str, int]:
    """For each name, the last position in a body where it is read (anywhere inside a loop counts as the loop)."""
    last: dict[str, int] = {}
    for i, item in enumerate(body):
        for s in item.body if isinstance(item, Loop) else (item,):
            for r in reads(s):
                last[old_value.bare(r)] = i
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


def operands(graph: BlockGraph, statements: Iterable[Statement]) -> dict[str, bool]:
    """The names that dots read, and whether each is ever read as a right operand: one that has the result's last dim."""
    found: dict[str, bool] = {}
    for s in statements:
        for c in computes(s):
            if c.op == "dot":
                last = [d for d in c.dims if graph.dim(d).tile > 1][-1:]
                for i, a in enumerate(c.args):
                    right = last[0] in _dims_of(graph, a) if last else i == 1
                    found[a] = found.get(a, False) or right
    return found


def on_tensor_cores(graph: BlockGraph, c: Compute) -> bool:
    """Whether a dot's tiles are large enough for a matrix instruction; else it is a sum of products."""
    wide = [graph.dim(d).tile for d in (*c.dims, c.attr("dim")) if graph.dim(d).tile > 1] if c.op == "dot" else []
    return len(wide) > 2 and graph.dim(c.attr("dim")).tile >= LEAST_DOT and min(wide[-3:]) >= LEAST_DOT


def pipelined(graph: BlockGraph, loop: Loop) -> tuple[Load, ...]:
    """The loads of a loop that are prefetched: those that its dots read, directly or through other operators; all of them
    where it has no dot on tensor cores."""
    if not any(on_tensor_cores(graph, c) for s in loop.body for c in computes(s)):
        return tuple(s for s in loop.body if isinstance(s, Load))
    wanted = set(operands(graph, loop.body))
    for s in reversed(loop.body):
        if not isinstance(s, Accumulate) and writes(s) in wanted and not any(c.op == "dot" for c in computes(s)):
            wanted |= set(reads(s))
    return tuple(s for s in loop.body if isinstance(s, Load) and s.out in wanted)


def asynchronous(graph: BlockGraph, warps: int, statements: Iterable[Statement]) -> bool:
    """Whether a dot is large enough for the warp-group matrix instruction, which reads shared memory while it runs."""
    for s in statements:
        for c in computes(s):
            wide = [d for d in c.dims if graph.dim(d).tile > 1] if c.op == "dot" else []
            if len(wide) > 1 and warps >= WARP_GROUP and graph.dim(wide[-2]).tile >= WARP_GROUP_ROWS:
                return True
    return False


def _dims_of(graph: BlockGraph, name: str) -> tuple[str, ...]:
    for item in graph.body:
        for s in item.body if isinstance(item, Loop) else (item,):
            if writes(s) == old_value.bare(name):
                return tuple(getattr(s, "dims", ()))
    return ()


def copies(graph: BlockGraph, loop: Loop, warps: int, stages: int) -> int:
    """Buffers of each pipelined load: one fewer than stages, but for a dot that still reads its buffer while the next
    is filled."""
    return max(stages if asynchronous(graph, warps, loop.body) else stages - 1, 1)


def _operand_bytes(m: MuGraph, graph: BlockGraph, body: tuple[Statement, ...], skip: set[str], regs: bool) -> int:
    """Bytes of the operands that are not pipelined. With `regs`, a computed left operand stays in registers."""
    made = {writes(s): s for item in graph.body for s in (item.body if isinstance(item, Loop) else (item,))}
    total = 0
    for name, right in operands(graph, body).items():
        s = made.get(name)
        if s is None or name in skip:
            continue
        if isinstance(s, Load):
            total += tile_bytes(m, graph, s)
        elif right or not regs:
            total += elements(graph, getattr(s, "dims", ())) * HALF  # it goes in at half precision
    return total


def shared_bytes(m: MuGraph, part: Part, stages: int) -> int:
    """Shared memory with so many stages: the loop that needs most, the dots outside loops, or the largest reduction."""
    graph, warps = part.graph, part.kernel.warps
    most = 0
    for item in graph.body:
        body = item.body if isinstance(item, Loop) else (item,)
        need, buffered = 0, set[str]()
        if isinstance(item, Loop):
            loads = pipelined(graph, item)
            buffered = {s.out for s in loads}
            need = copies(graph, item, warps, stages) * sum(tile_bytes(m, graph, s) for s in loads)
        need += _operand_bytes(m, graph, body, buffered, asynchronous(graph, warps, body))
        scratch = [elements(graph, c.dims) * FLOAT32 * warps for s in body for c in computes(s) if c.op in REDUCTIONS]
        most = max(most, need, *scratch, 0)
    return most


def usage(m: MuGraph, part: Part) -> Usage:
    """The estimate for one block graph."""
    meter = _Meter(m, part.graph)
    meter.straight(part.graph.body, frozenset())
    largest = 0
    for item in part.graph.body:
        for s in item.body if isinstance(item, Loop) else (item,):
            tiles = [c.dims for c in s.body] if isinstance(s, ThreadGraph) else [getattr(s, "dims", ())]
            largest = max([largest, *(elements(part.graph, d) for d in tiles)])
    shared = shared_bytes(m, part, part.kernel.stages)
    return Usage(meter.live, meter.accumulators, shared, meter.at, largest)
