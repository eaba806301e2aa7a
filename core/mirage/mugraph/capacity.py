"""The resources that a block needs of its multiprocessor: live tiles, registers, shared memory. Estimates, in bytes.

The model: computed tiles and accumulators live in registers as float32, loaded tiles in the tensor's dtype. What a dot
reads goes through shared memory, a load that a loop's dot reads is pipelined, and reductions exchange partial results
of warps. Calibrated against what Triton takes for sm_90 (tests/plan).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mirage.devices.table import Device
from mirage.ir.dtypes import DTYPES
from mirage.mugraph import old_value
from mirage.mugraph.block_facts import BlockFacts, Body, Dims, DotReads, OfBody, facts_of, tile_dims_of
from mirage.mugraph.decisions import Decisions, decide
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    Load,
    Loop,
    MuGraph,
    Statement,
    ThreadGraph,
)
from mirage.mugraph.walk import PlacedBlock, parts, reads, writes

FLOAT32, HALF = 4, 2
REGISTERS_PER_THREAD = 255
THREADS_PER_WARP = 32


@dataclass(frozen=True)
class Limits:
    """What a block may use: `shared` bytes of shared memory, elements of one tile; and whether the device has warp-group
    instructions, whose operands take more shared memory. `l2`: bytes of L2, which all blocks share."""

    shared: int
    tile_elements: int = 1 << 20
    warp_groups: bool = True
    l2: int = 50 << 20

    @staticmethod
    def of(device: Device) -> Limits:
        """What a block may use on a device."""
        return Limits(device.shared_per_block, warp_groups=device.warp_groups, l2=device.l2)

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


def tile_bytes(m: MuGraph, graph: BlockGraph, s: Load) -> int:
    """Bytes of a loaded tile."""
    return elements(graph, s.dims) * DTYPES[m.tensor(s.tensor).dtype].bytes


@dataclass(frozen=True)
class Alive:
    """What is alive after the statement that binds `at` (or a store): loaded tiles as (tensor, dims), the dims of computed tiles,
    and those of accumulators."""

    at: str
    loads: tuple[tuple[str, Dims], ...]
    computed: tuple[Dims, ...]
    accumulators: tuple[Dims, ...]


def _last_reads(body: Body) -> dict[str, int]:
    """For each name, the last position in a body where it is read (anywhere inside a loop counts as the loop)."""
    last: dict[str, int] = {}
    for i, item in enumerate(body):
        for s in item.body if isinstance(item, Loop) else (item,):
            for r in reads(s):
                last[old_value.bare(r)] = i
    return last


class _Lives:
    """Walks a body in order and notes what is alive."""

    def __init__(self, body: Body) -> None:
        self.alive: dict[str, Statement] = {}
        self.acc: dict[str, Accumulate] = {}
        self.found: list[Alive] = []
        self.straight(body, frozenset())

    def note(self, name: str) -> None:
        loads = tuple((s.tensor, s.dims) for s in self.alive.values() if isinstance(s, Load))
        computed = tuple(s.dims for s in self.alive.values() if isinstance(s, (Compute, ThreadGraph)))
        self.found.append(Alive(name, loads, computed, tuple(s.dims for s in self.acc.values())))

    def straight(self, items: Body, keep: frozenset[str]) -> None:
        last = _last_reads(items)
        for i, item in enumerate(items):
            if isinstance(item, Loop):
                self.acc |= {s.out: s for s in item.body if isinstance(s, Accumulate)}
                outer = dict(self.alive)
                self.straight(item.body, frozenset(outer) | frozenset(self.acc))
                self.alive = outer
            elif not isinstance(item, Accumulate) and (out := writes(item)):
                self.alive[out] = item
                self.note(out)
            else:
                self.note(writes(item) or "a store")
            for store in (self.alive, self.acc):
                for name in [n for n in store if n not in keep and last.get(n, -1) <= i]:
                    del store[name]


_alive: OfBody[list[Alive]] = OfBody(lambda body: _Lives(body).found)


class Tiles:
    """The sizes of one block graph's tiles."""

    def __init__(self, graph: BlockGraph, dtypes: Mapping[str, str]) -> None:
        self.tile = {d.name: d.tile for d in graph.dims}
        self.dtypes = dtypes

    def elements(self, dims: Dims) -> int:
        n = 1
        for d in dims:
            n *= self.tile[d]
        return n

    def loaded(self, tensor: str, dims: Dims) -> int:
        """Bytes of a tile of a tensor."""
        return self.elements(dims) * DTYPES[self.dtypes[tensor]].bytes

    def right(self, dot: DotReads) -> Iterator[tuple[str, bool]]:
        """Each operand of a dot, and whether it is the right one: it has the result's last dim."""
        last = next((d for d in reversed(dot.dims) if self.tile[d] > 1), None)
        return ((name, i == 1 if last is None else last in dims) for i, (name, dims) in enumerate(dot.args))


def pipelined(graph: BlockGraph, position: int, decisions: Decisions) -> tuple[Load, ...]:
    """The loads of a loop that are prefetched: those that its dots read, directly or through other operators; all of them
    where it has no product on tensor cores."""
    loop = facts_of(graph.body).items[position]
    return loop.feeding if decisions.has_product(position) else loop.loads


def copies(decisions: Decisions, graph: BlockGraph, position: int, stages: int) -> int:
    """Buffers of each pipelined load: one fewer than stages, but for a warp group's product, which still reads its buffer while
    the next is filled."""
    loop = facts_of(graph.body).items[position]
    return max(stages if decisions.has_group(loop) else stages - 1, 1)


def _operands(facts: BlockFacts, dots: Sequence[DotReads], tiles: Tiles, regs: bool) -> dict[str, int]:
    """Bytes of each operand that is not pipelined. With `regs`, a computed left operand stays in registers."""
    read: dict[str, bool] = {}
    for dot in dots:
        for name, right in tiles.right(dot):
            read[name] = read.get(name, False) or right
    found: dict[str, int] = {}
    for name, right in read.items():
        s = facts.made.get(name)
        if isinstance(s, Load):
            found[name] = tiles.loaded(s.tensor, s.dims)
        elif s is not None and (right or not regs):
            found[name] = tiles.elements(s.dims) * HALF  # it goes in at half precision
    return found


def _waiting(facts: BlockFacts, position: int, tiles: Tiles, decisions: Decisions) -> dict[str, int]:
    """Bytes of each operand that waits at this position for a dot that comes later than it stands; of a warp's own instruction one
    operand waits in registers."""
    found: dict[str, int] = {}
    for dot in facts.postponed:
        if dot.made < position <= dot.used:
            group = decisions.has_group(facts.items[dot.made])
            read = _operands(facts, (dot.reads,), tiles, group)
            found |= read if group or not read else dict([max(read.items(), key=lambda x: x[1])])
    return found


def shared_bytes(m: MuGraph, part: PlacedBlock, stages: int, groups: bool = True) -> int:
    """Shared memory with so many stages: the loop that needs most, the dots outside loops, or the largest reduction; and what waits
    meanwhile for a dot that is made later. `groups`: the device has warp-group instructions."""
    return _shared(part, Tiles(part.graph, {t.name: t.dtype for t in m.tensors}), stages, groups)


def _shared(part: PlacedBlock, tiles: Tiles, stages: int, groups: bool) -> int:
    graph, warps = part.graph, part.kernel.warps
    decisions, facts = decide(graph, warps, groups), facts_of(graph.body)
    most = 0
    for position, item in enumerate(facts.items):
        need, buffered = 0, set[str]()
        if item.loop is not None:
            loads = pipelined(graph, item.loop, decisions)
            buffered = {s.out for s in loads}
            each = sum(tiles.loaded(s.tensor, s.dims) for s in loads)
            need = copies(decisions, graph, item.loop, stages) * each
        operands = _operands(facts, item.dots, tiles, decisions.has_group(item)) if item.dots else {}
        if facts.postponed:
            operands = _waiting(facts, position, tiles, decisions) | operands
        need += sum(size for name, size in operands.items() if name not in buffered)
        most = max(most, need, *(tiles.elements(dims) * FLOAT32 * warps for dims in item.reduced))
    return most


def usage(m: MuGraph, part: PlacedBlock, groups: bool = True) -> Usage:
    """The estimate for one block graph, on a device with warp-group instructions or without."""
    tiles = Tiles(part.graph, {t.name: t.dtype for t in m.tensors})
    live, accumulators, at = 0, 0, ""
    for x in _alive(part.graph.body):
        held = FLOAT32 * sum(map(tiles.elements, x.accumulators))
        total = held + FLOAT32 * sum(map(tiles.elements, x.computed)) + sum(tiles.loaded(*load) for load in x.loads)
        accumulators = max(accumulators, held)
        if total > live:
            live, at = total, x.at
    largest = max(map(tiles.elements, tile_dims_of(part.graph.body).all), default=0)
    return Usage(live, accumulators, _shared(part, tiles, part.kernel.stages, groups), at, largest)


def _bound(part: PlacedBlock, tiles: Tiles) -> int:
    """No less than `_shared`, and found in a fraction of its time: every load of a block has all stages, and is an operand
    besides; so is every tile that a dot reads."""
    facts = facts_of(part.graph.body)
    loaded = sum(tiles.loaded(s.tensor, s.dims) for s in facts.loaded.values())
    read = sum(map(tiles.elements, facts.operands))
    scratch = max(map(tiles.elements, facts.reduced), default=0)
    return max(loaded * (part.kernel.stages + 1) + read * HALF, scratch * FLOAT32 * part.kernel.warps)


def room(m: MuGraph, limits: Limits) -> bool:
    """Whether every block has the shared memory that it needs with its stages."""
    dtypes = {t.name: t.dtype for t in m.tensors}
    every = ((p, Tiles(p.graph, dtypes)) for p in parts(m))
    return all(
        _bound(p, tiles) <= limits.shared or _shared(p, tiles, p.kernel.stages, limits.warp_groups) <= limits.shared
        for p, tiles in every
    )
