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
GROUPS = (8, 16, 4)  # blocks that start one after the other along a dim
WORTH = 1.02  # how many times less must come from memory before blocks start in groups


@dataclass(frozen=True, slots=True)
class TensorReads:
    """What a launch reads of a tensor: its bytes, each once, and the grid dims on which the bytes depend."""

    bytes: float
    dims: frozenset[str]


def covered(grid: Sequence[tuple[str, int]], running: int) -> dict[str, int]:
    """How many places along each grid dim (name, blocks) the blocks of a wave have. A dim whose blocks start in groups stands twice: by
    its groups, and last by the blocks of one."""
    found: dict[str, int] = {}
    blocks = max(1, running)
    for name, count in reversed(grid):
        found[name] = found.get(name, 1) * min(count, blocks)
        blocks = math.ceil(blocks / count)
    return found


def from_memory(
    grid: Sequence[tuple[str, int]], readings: Mapping[str, TensorReads], running: int, kept: float
) -> float:
    """The bytes that come from memory for all waves of a launch. `kept`: bytes of L2 that hold what the next wave reads again."""
    counts = {name: math.prod(n for other, n in grid if other == name) for name, _ in grid}
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


@dataclass(frozen=True, slots=True)
class Order:
    """An order of grid dims, and which of them starts its blocks in groups of how many ("": none)."""

    names: tuple[str, ...]
    grouped: str = ""
    group: int = 0

    def digits(self, counts: Mapping[str, int]) -> list[tuple[str, int]]:
        """The grid as `covered` takes it."""
        out = [(n, counts[n] // self.group if n == self.grouped else counts[n]) for n in self.names]
        return [*out, (self.grouped, self.group)] if self.grouped else out


def orders(grid: Sequence[tuple[str, int]], groups: Sequence[int]) -> list[Order]:
    """The orders of a grid's dims, the one that it has first, then those in `groups` of so many blocks: of the last dim but one,
    where that makes several."""
    names = tuple(name for name, _ in grid)
    if len(names) > MOST:
        return [Order(names)]
    counts = dict(grid)
    plain = [names, *(p for p in permutations(names) if p != names)]
    pairs = [(p, n) for p in plain if len(p) > 1 for n in groups if counts[p[-2]] > n and counts[p[-2]] % n == 0]
    return [*map(Order, plain), *(Order(p, p[-2], n) for p, n in pairs)]


def best_order(
    grid: Sequence[tuple[str, int]],
    readings: Mapping[str, TensorReads],
    kept: float,
    groups: Sequence[int] = GROUPS,
) -> Order:
    """The order of the grid's dims with which the least comes from memory; as they are where no other gains anything, and in groups
    where they gain `WORTH` over every order without; no `groups` where parts of a split are among the dims."""
    counts = dict(grid)

    def moved(order: Order) -> float:
        bytes_ = from_memory(order.digits(counts), readings, WAVE, kept)
        return bytes_ * WORTH if order.grouped else bytes_

    return min(orders(grid, groups), key=moved)
