"""Applies a pass to each straight run of statements of a µGraph: a block's top level, and each loop's body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mirage.mugraph import old_value
from mirage.mugraph.grammar import BlockGraph, Loop, MuGraph, Statement
from mirage.mugraph.walk import each_block, reads

Item = Statement | Loop
# (the body's items in order, the names that are read outside this body) -> the new items
Rewrite = Callable[[tuple[Item, ...], frozenset[str]], tuple[Item, ...]]


def read_by(items: tuple[Item, ...]) -> frozenset[str]:
    """Every tile name that the items read, inside their loops too."""
    found: set[str] = set()
    for item in items:
        for s in item.body if isinstance(item, Loop) else (item,):
            found |= {old_value.bare(r) for r in reads(s)}
    return frozenset(found)


def _block(b: BlockGraph, rewrite: Rewrite) -> BlockGraph:
    body: list[Item] = []
    for item in b.body:
        if isinstance(item, Loop):
            # what a loop binds is gone after it, but for accumulators, which no pass renames
            inner = rewrite(item.body, frozenset())
            item = Loop(item.dim, tuple(s for s in inner if not isinstance(s, Loop)))
        body.append(item)
    inside = frozenset[str]().union(*(read_by((i,)) for i in body if isinstance(i, Loop)))
    return replace(b, body=rewrite(tuple(body), inside))


def each_body(m: MuGraph, rewrite: Rewrite) -> MuGraph:
    """The µGraph with every body rewritten; loops stand as single items in their block's body."""
    return each_block(m, lambda b: _block(b, rewrite))
