"""Operator order: the statements of a body in an order that keeps fewer bytes alive; a loop's loads come first.

Greedy: of the statements that are ready, the one that frees most (creates least) runs next. Loads open a loop's body,
so that they can be pipelined. A block keeps its old order where the new one would need more, or more shared
memory than there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from mirage.mugraph.capacity import FLOAT32, elements, tile_bytes, usage
from mirage.mugraph.check import SM_90, Limits
from mirage.mugraph.grammar import Accumulate, BlockGraph, CustomKernel, Load, Loop, MuGraph, Store
from mirage.mugraph.walk import PlacedBlock, reads, writes
from mirage.plan.straight_runs import Item, read_by


def _binds(item: Item) -> tuple[str, ...]:
    """The names that an item makes known to what follows it."""
    if isinstance(item, Loop):
        return tuple(s.out for s in item.body if isinstance(s, Accumulate))
    out = writes(item)
    return (out,) if out else ()


def _bytes(m: MuGraph, graph: BlockGraph, item: Item) -> int:
    if isinstance(item, Loop):
        return sum(FLOAT32 * elements(graph, s.dims) for s in item.body if isinstance(s, Accumulate))
    if isinstance(item, Load):
        return tile_bytes(m, graph, item)
    return 0 if isinstance(item, Store) else FLOAT32 * elements(graph, item.dims)


def _running(item: Item, accumulators: frozenset[str]) -> frozenset[str]:
    """The accumulators whose running value (not the old one) an item reads."""
    return frozenset() if isinstance(item, Loop) else accumulators & set(reads(item))


def _needs(items: tuple[Item, ...], made: Mapping[str, int]) -> list[set[int]]:
    """For each item the places of those that must come before it. `made`: the place at which each name is made."""
    accumulators = frozenset(item.out for item in items if isinstance(item, Accumulate))
    needs: list[set[int]] = []
    for i, item in enumerate(items):
        before = {made[n] for n in read_by((item,)) - accumulators if n in made and made[n] != i}
        before |= {made[n] for n in _running(item, accumulators)}
        needs.append(before - {i})
    loops = [i for i, item in enumerate(items) if isinstance(item, Loop)]
    for a, b in pairwise(loops):
        needs[b].add(a)  # loops keep their order: each is a pass over memory
    return needs


def schedule(m: MuGraph, graph: BlockGraph, items: tuple[Item, ...], keep: frozenset[str], inside: bool) -> list[Item]:
    """The items in a new order that respects what each reads. `keep` are names that live on after the body."""
    made = {name: i for i, item in enumerate(items) for name in _binds(item)}
    needs = _needs(items, made)
    left = {n: {i for i, item in enumerate(items) if n in read_by((item,))} for n in made}
    size = {n: _bytes(m, graph, items[i]) // max(len(_binds(items[i])), 1) for n, i in made.items()}
    done: set[int] = set()
    out: list[Item] = []

    def cost(i: int) -> tuple[bool, int, int]:
        frees = sum(size[n] for n in read_by((items[i],)) if left.get(n) == {i} and n not in keep)
        makes = 0 if isinstance(items[i], Accumulate) else _bytes(m, graph, items[i])
        return not (inside and isinstance(items[i], Load)), makes - frees, i

    while len(out) < len(items):
        ready = [i for i in range(len(items)) if i not in done and needs[i] <= done]
        i = min(ready, key=cost)
        done.add(i)
        out.append(items[i])
        for users in left.values():
            users.discard(i)
    return out


def _block(m: MuGraph, part: PlacedBlock, limits: Limits) -> BlockGraph:
    graph = part.graph
    body: list[Item] = []
    for item in graph.body:
        if isinstance(item, Loop):
            keep = frozenset(_binds(item))
            inner = schedule(m, graph, item.body, keep, inside=True)
            item = Loop(item.dim, tuple(s for s in inner if not isinstance(s, Loop)))
        body.append(item)
    new = replace(graph, body=tuple(schedule(m, graph, tuple(body), frozenset(), inside=False)))
    before, after = usage(m, part, limits.warp_groups), usage(m, replace(part, graph=new), limits.warp_groups)
    fits = after.shared <= max(before.shared, limits.shared)
    return new if fits and (after.live, after.shared) <= (before.live, before.shared) else graph


def operator_order(m: MuGraph, limits: Limits = SM_90) -> MuGraph:
    """Every block's statements in an order that keeps no more bytes alive than before."""
    kernels = []
    for k in m.kernels:
        if isinstance(k, CustomKernel):
            tail = _block(m, PlacedBlock(k, "tail", k.tail), limits) if k.tail is not None else None
            k = replace(k, block=_block(m, PlacedBlock(k, "block", k.block), limits), tail=tail)
        kernels.append(k)
    return replace(m, kernels=tuple(kernels))
