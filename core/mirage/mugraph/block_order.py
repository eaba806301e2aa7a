"""The order in which a kernel's blocks start, and what a wave of them reads: blocks that run side by side share the tiles that both read.

Blocks are numbered row-major over the grid's dims, the last fastest. Those of a wave go through their loops together, so that a
tile which several of them read comes from memory once; the next wave finds it again only if all that it reads again fits L2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

KEPT = 0.8  # of L2, for what is read again
WAVE = 128  # blocks that run side by side, roughly: large tiles leave room for one a multiprocessor
MOST = 4  # grid dims whose orders are all tried


@dataclass(frozen=True, slots=True)
class TensorReads:
    """What a launch reads of a tensor: its bytes, each once, and the grid dims on which the bytes depend."""

    bytes: float
    dims: frozenset[str]


def covered(grid: Sequence[tuple[str, int]], running: int) -> dict[str, int]:
    """How many places along each grid dim (name, blocks) the blocks of a wave have."""
    found: dict[str, int] = {}
    blocks = max(1, running)
    for name, count in reversed(grid):
        found[name] = min(count, blocks)
        blocks = math.ceil(blocks / count)
    return found


def from_memory(
    grid: Sequence[tuple[str, int]], readings: Mapping[str, TensorReads], running: int, kept: float
) -> float:
    """The bytes that come from memory for all waves of a launch. `kept`: bytes of L2 that hold what the next wave reads again."""
    counts = dict(grid)
    cover = covered(grid, running)
    waves = max(1.0, math.prod(counts.values()) / max(1, running))
    total, again = 0.0, 0.0
    for r in readings.values():
        once = r.bytes * math.prod(cover[d] / counts[d] for d in r.dims)
        if waves * once > r.bytes and once <= kept - again:  # the whole of it or a large share, in every wave: it stays
            again += once
            total += r.bytes
        else:
            total += max(r.bytes, waves * once)
    return total


def best_order(grid: Sequence[tuple[str, int]], readings: Mapping[str, TensorReads], kept: float) -> tuple[str, ...]:
    """The order of the grid's dims with which the least comes from memory; as they are where no other gains anything."""
    names = tuple(name for name, _ in grid)
    if len(names) > MOST:
        return names
    counts = dict(grid)
    orders = [names, *(p for p in permutations(names) if p != names)]
    return min(orders, key=lambda order: from_memory([(n, counts[n]) for n in order], readings, WAVE, kept))
