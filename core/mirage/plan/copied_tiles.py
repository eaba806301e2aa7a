"""Loads of large products by tensor descriptors: the device copies each tile as a whole, and no thread computes addresses for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mirage.mugraph import old_value
from mirage.mugraph.capacity import Limits
from mirage.mugraph.decisions import decide
from mirage.mugraph.descriptors import refused, with_loads
from mirage.mugraph.grammar import BlockGraph, Compute, CustomKernel, Load, Loop, MuGraph
from mirage.mugraph.walk import computes, each_block, reads

WIDE = 16384  # sums of a product's tile from which on the copies wait for nothing but the products


def fed(graph: BlockGraph, warps: int, least: int) -> Iterator[Load]:
    """The loads of loops that nothing but warp groups' products read; with `least`, of loops that do nothing but to add up products, of
    tiles with so many sums."""
    products = decide(graph, warps).products
    tile = {d.name: d.tile for d in graph.dims}
    for position, item in enumerate(graph.body):
        if not isinstance(item, Loop):
            continue
        found = {place[1]: p for place, p in products.items() if place[0] == position and p.unit == "warp group"}
        if least and not all(p.fused and tile[p.m] * tile[p.n] >= least for p in found.values()):
            continue
        for s in item.body:
            if isinstance(s, Load) and _readers(item, s.out) <= set(found):
                yield s


def _readers(loop: Loop, name: str) -> set[str]:
    """What reads a tile of a loop: products by their names, all else as ""."""
    found: set[str] = set()
    for s in loop.body:
        inner = {c.out for c in computes(s) if c.op == "dot" and name in c.args and isinstance(s, Compute)}
        if name in map(old_value.bare, reads(s)):
            found |= inner or {""}
    return found


def copied(m: MuGraph, least: int) -> MuGraph:
    """The µGraph that copies by descriptors what it can of the loads that `fed` names."""

    def change(k: CustomKernel) -> CustomKernel:
        chosen = {s for s in fed(k.block, k.warps, least) if not refused(m, k.block, s)}
        return replace(k, block=with_loads(k.block, lambda s: replace(s, by="descriptor") if s in chosen else s))

    return replace(m, kernels=tuple(change(k) if isinstance(k, CustomKernel) else k for k in m.kernels))


def copied_tiles(m: MuGraph, limits: Limits) -> MuGraph:
    """The pass: on devices with warp groups, where a loop adds up wide tiles of products. Elsewhere a clock decides."""
    return copied(m, WIDE) if limits.warp_groups else m


def other_loads(m: MuGraph, limits: Limits) -> MuGraph:
    """The µGraph with its tiles loaded the other way: by pointers if a descriptor is among them, else by descriptors where the device
    has warp groups."""
    plain = each_block(m, lambda b: with_loads(b, lambda s: replace(s, by="pointers")))
    return plain if plain != m or not limits.warp_groups else copied(m, 0)
