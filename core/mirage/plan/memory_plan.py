"""Memory plan: how many bytes a block needs, and as many pipeline stages as shared memory has room for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mirage.mugraph.capacity import copies, pipelined, shared_bytes, tile_bytes, usage
from mirage.mugraph.check import SM_90, Limits
from mirage.mugraph.decisions import Decisions, decide
from mirage.mugraph.grammar import CustomKernel, Loop, MuGraph
from mirage.mugraph.walk import PlacedBlock, parts


@dataclass(frozen=True)
class Buffer:
    """A loaded tile that is pipelined through shared memory: `copies` of `bytes` each."""

    tile: str
    bytes: int
    copies: int


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes of one block graph: the peak of live tiles and the statement where it is, accumulators, shared memory; and the
    decisions that they follow from."""

    where: str
    live: int
    peak_at: str
    accumulators: int
    shared: int
    buffers: tuple[Buffer, ...]
    decisions: Decisions


def _buffers(m: MuGraph, part: PlacedBlock, decisions: Decisions) -> tuple[Buffer, ...]:
    found: list[Buffer] = []
    for i, item in enumerate(part.graph.body):
        if isinstance(item, Loop):
            n = copies(decisions, part.graph, i, part.kernel.stages)
            found += [Buffer(s.out, tile_bytes(m, part.graph, s), n) for s in pipelined(part.graph, i, decisions)]
    return tuple(found)


def memory(m: MuGraph, limits: Limits = SM_90) -> tuple[MemoryPlan, ...]:
    """The memory plan of every block graph, in launch order, tails after their blocks."""
    plans = []
    for part in parts(m):
        u = usage(m, part, limits.warp_groups)
        decisions = decide(part.graph, part.kernel.warps, limits.warp_groups)
        buffers = _buffers(m, part, decisions)
        plans.append(MemoryPlan(part.where, u.live, u.at, u.accumulators, u.shared, buffers, decisions))
    return tuple(plans)


def _stages(m: MuGraph, k: CustomKernel, limits: Limits) -> int:
    blocks = [PlacedBlock(k, "block", k.block), *([PlacedBlock(k, "tail", k.tail)] if k.tail is not None else [])]
    fitting = (
        n
        for n in range(k.stages, 1, -1)
        if all(shared_bytes(m, p, n, limits.warp_groups) <= limits.shared for p in blocks)
    )
    return next(fitting, 1)


def memory_plan(m: MuGraph, limits: Limits) -> MuGraph:
    """As many stages as asked for where shared memory has room for them, else as many as fit (at least one)."""
    kernels = tuple(replace(k, stages=_stages(m, k, limits)) if isinstance(k, CustomKernel) else k for k in m.kernels)
    return replace(m, kernels=kernels)
