"""Memory plan: how many bytes a block needs, and as many pipeline stages as shared memory has room for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mirage.mugraph.capacity import copies, pipelined, shared_bytes, tile_bytes, usage
from mirage.mugraph.grammar import CustomKernel, Loop, MuGraph
from mirage.mugraph.rules.breach import Limits
from mirage.mugraph.walk import Part, parts


@dataclass(frozen=True)
class Buffer:
    """A loaded tile that is pipelined through shared memory: `copies` of `bytes` each."""

    tile: str
    bytes: int
    copies: int


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes of one block graph: the peak of live tiles and the statement where it is, accumulators, shared memory."""

    where: str
    live: int
    peak_at: str
    accumulators: int
    shared: int
    buffers: tuple[Buffer, ...]


def _buffers(m: MuGraph, part: Part) -> tuple[Buffer, ...]:
    found: list[Buffer] = []
    for item in part.graph.body:
        if isinstance(item, Loop):
            n = copies(part.graph, item, part.kernel.warps, part.kernel.stages)
            found += [Buffer(s.out, tile_bytes(m, part.graph, s), n) for s in pipelined(part.graph, item)]
    return tuple(found)


def memory(m: MuGraph) -> tuple[MemoryPlan, ...]:
    """The memory plan of every block graph, in launch order, tails after their blocks."""
    plans = []
    for part in parts(m):
        u = usage(m, part)
        plans.append(MemoryPlan(part.where, u.live, u.at, u.accumulators, u.shared, _buffers(m, part)))
    return tuple(plans)


def _stages(m: MuGraph, k: CustomKernel, limits: Limits) -> int:
    blocks = [Part(k, "block", k.block), *([Part(k, "tail", k.tail)] if k.tail is not None else [])]
    fitting = (n for n in range(k.stages, 1, -1) if all(shared_bytes(m, p, n) <= limits.shared for p in blocks))
    return next(fitting, 1)


def memory_plan(m: MuGraph, limits: Limits) -> MuGraph:
    """As many stages as asked for where shared memory has room for them, else as many as fit (at least one)."""
    kernels = tuple(replace(k, stages=_stages(m, k, limits)) if isinstance(k, CustomKernel) else k for k in m.kernels)
    return replace(m, kernels=kernels)
