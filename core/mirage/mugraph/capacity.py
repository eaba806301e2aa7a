"""The resources that a block needs of its multiprocessor: live tiles, registers, shared memory. Estimates, in bytes.

The model: computed tiles and accumulators live in registers as float32, loaded tiles in the tensor's dtype. What a dot
reads goes through shared memory, a load that a loop's dot reads is pipelined, and reductions exchange partial results
of warps. Calibrated against what Triton takes for sm_90 (tests/plan).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from mirage.devices.table import Device
from mirage.ir.dtypes import DTYPES
from mirage.mugraph import old_value
from mirage.mugraph.decisions import REDUCTIONS, Decisions, decide, structure_of
from mirage.mugraph.grammar import Accumulate, BlockGraph, Load, Loop, MuGraph, Statement, ThreadGraph
from mirage.mugraph.walk import PlacedBlock, computes, parts, reads, writes

FLOAT32, HALF = 4, 2
REGISTERS_PER_THREAD = 255
THREADS_PER_WARP = 32


@dataclass(frozen=True)
class Limits:
    """What a block may use: `shared` bytes of shared memory, elements of one tile; and whether the device has warp-group
    instructions, whose operands take more shared memory."""

    shared: int
    tile_elements: int = 1 << 20
    warp_groups: bool = True

    @staticmethod
    def of(device: Device) -> Limits:
        """What a block may use on a device."""
        return Limits(device.shared_per_block, warp_groups=device.warp_groups)

    def registers(self, warps: int) -> int:
        """Bytes of registers of a block."""
        return REGISTERS_PER_THREAD * THREADS_PER_WARP * warps * 4


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


def pipelined(graph: BlockGraph, position: int, decisions: Decisions) -> tuple[Load, ...]:
    """The loads of a loop that are prefetched: those that its dots read, directly or through other operators; all of them
    where it has no product on tensor cores."""
    loop = graph.body[position]
    assert isinstance(loop, Loop)
    if not decisions.has_product(position):
        return tuple(s for s in loop.body if isinstance(s, Load))
    wanted = set(operands(graph, loop.body))
    for s in reversed(loop.body):
        if not isinstance(s, Accumulate) and writes(s) in wanted and not any(c.op == "dot" for c in computes(s)):
            wanted |= set(reads(s))
    return tuple(s for s in loop.body if isinstance(s, Load) and s.out in wanted)


def _dims_of(graph: BlockGraph, name: str) -> tuple[str, ...]:
    for item in graph.body:
        for s in item.body if isinstance(item, Loop) else (item,):
            if writes(s) == old_value.bare(name):
                return tuple(getattr(s, "dims", ()))
    return ()


def copies(decisions: Decisions, graph: BlockGraph, position: int, stages: int) -> int:
    """Buffers of each pipelined load: one fewer than stages, but for a warp group's product, which still reads its buffer while
    the next is filled."""
    loop = graph.body[position]
    assert isinstance(loop, Loop)
    return max(stages if decisions.has_group(position, loop.body) else stages - 1, 1)


def _made(graph: BlockGraph) -> dict[str, Statement]:
    """What binds each name, in a loop or outside."""
    found: dict[str, Statement] = {}
    for item in graph.body:
        for s in item.body if isinstance(item, Loop) else (item,):
            if (out := writes(s)) is not None:
                found[out] = s
    return found


def _operand_bytes(
    m: MuGraph, graph: BlockGraph, made: dict[str, Statement], read: dict[str, bool], skip: set[str], regs: bool
) -> int:
    """Bytes of the operands that are not pipelined. With `regs`, a computed left operand stays in registers."""
    total = 0
    for name, right in read.items():
        s = made.get(name)
        if s is None or name in skip:
            continue
        if isinstance(s, Load):
            total += tile_bytes(m, graph, s)
        elif right or not regs:
            total += elements(graph, getattr(s, "dims", ())) * HALF  # it goes in at half precision
    return total


def shared_bytes(m: MuGraph, part: PlacedBlock, stages: int, groups: bool = True) -> int:
    """Shared memory with so many stages: the loop that needs most, the dots outside loops, or the largest reduction. `groups`:
    the device has warp-group instructions."""
    graph, warps = part.graph, part.kernel.warps
    decisions, made = decide(graph, warps, groups), _made(graph)
    most = 0
    for i, item in enumerate(graph.body):
        body = item.body if isinstance(item, Loop) else (item,)
        need, buffered = 0, set[str]()
        if isinstance(item, Loop):
            loads = pipelined(graph, i, decisions)
            buffered = {s.out for s in loads}
            need = copies(decisions, graph, i, stages) * sum(tile_bytes(m, graph, s) for s in loads)
        read = operands(graph, body)
        if read:
            regs = decisions.has_group(i if isinstance(item, Loop) else None, body)
            need += _operand_bytes(m, graph, made, read, buffered, regs)
        scratch = [elements(graph, c.dims) * FLOAT32 * warps for s in body for c in computes(s) if c.op in REDUCTIONS]
        most = max(most, need, *scratch, 0)
    return most


def usage(m: MuGraph, part: PlacedBlock, groups: bool = True) -> Usage:
    """The estimate for one block graph, on a device with warp-group instructions or without."""
    meter = _Meter(m, part.graph)
    meter.straight(part.graph.body, frozenset())
    largest = 0
    for item in part.graph.body:
        for s in item.body if isinstance(item, Loop) else (item,):
            tiles = [c.dims for c in s.body] if isinstance(s, ThreadGraph) else [getattr(s, "dims", ())]
            largest = max([largest, *(elements(part.graph, d) for d in tiles)])
    shared = shared_bytes(m, part, part.kernel.stages, groups)
    return Usage(meter.live, meter.accumulators, shared, meter.at, largest)


def _bound(m: MuGraph, part: PlacedBlock, dtypes: dict[str, str]) -> int:
    """No less than `shared_bytes`, and found in a fraction of its time: every load of a block has all stages, and is an operand
    besides; so is every tile that a dot reads."""
    tiles = {d.name: d.tile for d in part.graph.dims}
    found = structure_of(part.graph.body)
    loaded = sum(math.prod([tiles[d] for d in dims]) * DTYPES[dtypes[x]].bytes for x, dims in found.loads)
    read = sum(math.prod([tiles[d] for d in dims]) for dims in found.operands)
    scratch = max((math.prod([tiles[d] for d in dims]) for dims in found.reduced), default=0)
    return max(loaded * (part.kernel.stages + 1) + read * HALF, scratch * FLOAT32 * part.kernel.warps)


def room(m: MuGraph, limits: Limits) -> bool:
    """Whether every block has the shared memory that it needs with its stages."""
    dtypes = {t.name: t.dtype for t in m.tensors}
    return all(
        _bound(m, p, dtypes) <= limits.shared
        or shared_bytes(m, p, p.kernel.stages, limits.warp_groups) <= limits.shared
        for p in parts(m)
    )
