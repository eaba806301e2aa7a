"""Decisions about a block on a device: the unit that does each product, and the sums that are reduced only after their loop.

Decided here and nowhere else: the validity rules and the memory plan count shared memory by it, the estimate counts work by it,
the search knows from it which tiles make a product, and the emitter writes what it says. What the compiler does with the text
is measured (tests/plan/test_decisions.py): a product of one matrix by another, or of a batch of them, whose three extents are
at least 16 runs on tensor cores. With four or more warps, 64 or more rows and no batch a device that has warp-group
instructions (sm_90, sm_100) uses them; they read both operands from shared memory while the next ones are loaded. Products of
float32 are written alike, and their threads multiply: tensor cores would round the operands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mirage.mugraph.block_facts import BlockFacts, BodyPlace, DotFacts, ItemFacts, facts_of
from mirage.mugraph.grammar import BlockGraph, Compute

LEAST_DOT = 16  # the least extent of a matrix instruction's operand
GROUP_WARPS, GROUP_ROWS = 4, 64  # warps of a warp group, and the rows of its matrix instruction
DEFERRED = 64  # registers of a thread for tiles that are added up whole and reduced after their loop

Unit = Literal["warp group", "warp"]


def matrix_sides(m: Sequence[int], n: Sequence[int], k: int) -> bool:
    """Whether a product is one of matrices large enough for tensor cores, by the tiles of the dims that each side has alone."""
    return len(m) == len(n) == 1 and min(m[0], n[0], k) >= LEAST_DOT


@dataclass(frozen=True)
class Product:
    """A dot that is written as one: (`batch`, M, K) by (`batch`, K, N). `swapped`: its second argument is the left operand;
    `fused`: it adds to its accumulator in place."""

    batch: tuple[str, ...]
    m: str
    n: str
    k: str
    swapped: bool
    fused: bool
    unit: Unit


@dataclass(frozen=True)
class Deferred:
    """A sum whose contributions are added up element by element, as a tile of the dims `wide`, and reduced after the loop."""

    accumulator: str
    summand: str  # the reduction that is not made in the loop
    wide: tuple[str, ...]


@dataclass(frozen=True)
class Decisions:
    """Of one block graph: its products by place, the others being sums of products, and the deferred sums of each loop."""

    products: dict[BodyPlace, Product]
    deferred: dict[int, tuple[Deferred, ...]]

    def product(self, where: int | None, c: Compute) -> Product | None:
        """The decision on a dot; None where it is a sum of products (or no dot)."""
        return self.products.get((where, c.out)) if c.op == "dot" else None

    def has_product(self, where: int) -> bool:
        """Whether a loop has a product on tensor cores."""
        return any(place[0] == where for place in self.products)

    def has_group(self, item: ItemFacts) -> bool:
        """Whether a warp group makes a product of an item of the body."""
        found = (self.products.get((item.loop, d.out)) for d in item.dots)
        return any(p is not None and p.unit == "warp group" for p in found)


NONE = Decisions({}, {})


def decide(graph: BlockGraph, warps: int, groups: bool = True) -> Decisions:
    """The decisions for a block of so many warps on a device that has warp-group instructions, or has not."""
    facts = facts_of(graph.body)
    if not facts.dots and not facts.sums:
        return NONE
    tiles = {d.name: d.tile for d in graph.dims}
    products = {d.place: p for d in facts.dots if (p := _product(d, tiles, groups and warps >= GROUP_WARPS))}
    return Decisions(products, _deferred(facts, products, graph, tiles, warps))


def _product(dot: DotFacts, tiles: dict[str, int], groups: bool) -> Product | None:
    k = dot.k
    if k not in dot.left or k not in dot.right or tiles[k] < LEAST_DOT:
        return None
    wide = {d for d, tile in tiles.items() if tile > 1} - {k}
    a, b = wide.intersection(dot.left), wide.intersection(dot.right)
    result = [d for d in dot.dims if d in wide or d == k]
    batch = tuple(d for d in result if d in a & b)
    m, n = list(a.difference(batch)), list(b.difference(batch))
    if len(batch) > 1 or not matrix_sides([tiles[d] for d in m], [tiles[d] for d in n], tiles[k]):
        return None
    if sorted(result) != sorted([*batch, *m, *n]):
        return None
    swapped = result.index(m[0]) > result.index(n[0])
    first, second = (n[0], m[0]) if swapped else (m[0], n[0])
    group = groups and not batch and tiles[first] >= GROUP_ROWS
    return Product(batch, first, second, k, swapped, dot.fused, "warp group" if group else "warp")


def _deferred(
    facts: BlockFacts, products: dict[BodyPlace, Product], graph: BlockGraph, tiles: dict[str, int], warps: int
) -> dict[int, tuple[Deferred, ...]]:
    """The smallest tiles of each loop, while the threads have room for them; the largest are reduced in the loop."""
    found: dict[int, list[tuple[int, Deferred]]] = {}
    for s in facts.sums:
        if (s.loop, s.summand) in products or tiles[s.over] < 2 or s.over not in s.args:
            continue
        wide = tuple(d.name for d in graph.dims if d.name in s.args and d.tile > 1)
        size = math.prod(tiles[d] for d in wide)
        found.setdefault(s.loop, []).append((size, Deferred(s.accumulator, s.summand, wide)))
    out: dict[int, tuple[Deferred, ...]] = {}
    for loop, some in found.items():
        room, taken = DEFERRED * 32 * warps, []
        for size, one in sorted(some, key=lambda x: (x[0], x[1].accumulator)):
            room -= size
            if room >= 0:
                taken.append(one)
        out[loop] = tuple(taken)
    return out
