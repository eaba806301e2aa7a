"""Thread-graph fusion: chains of pointwise operators whose inner results are used once stay in registers."""

from __future__ import annotations

from mirage.mugraph.grammar import Accumulate, Compute, MuGraph, ThreadGraph
from mirage.operators.block_operators import BLOCK
from mirage.plan.straight_runs import Item, each_body, read_by


def _form(item: Item) -> str:
    return BLOCK[item.op].form if isinstance(item, Compute) else ""


def _may_move(items: tuple[Item, ...], i: int, to: int) -> bool:
    """True if the operator at i may run at `to`: no accumulator that it reads is updated in between."""
    names = read_by((items[i],))
    return not any(isinstance(x, Accumulate) and x.out in names for x in items[i:to])


def chains(items: tuple[Item, ...], elsewhere: frozenset[str]) -> dict[int, list[int]]:
    """The chains of a body: position of the last operator -> positions of the others, in order. A chain grows backwards
    from its last operator over operands that only the chain reads, and only once."""
    users: dict[str, list[int]] = {}
    for i, item in enumerate(items):
        for name in read_by((item,)):
            users.setdefault(name, []).append(i)
    last_of: dict[int, int] = {}
    for i in range(len(items) - 1, -1, -1):
        item = items[i]
        if not isinstance(item, Compute) or _form(item) not in ("pointwise", "leaf") or item.out in elsewhere:
            continue
        following = users.get(item.out, [])
        if len(following) == 1 and _form(items[following[0]]) == "pointwise":
            last = last_of.get(following[0], following[0])
            if _may_move(items, i, last):
                last_of[i] = last
    found: dict[int, list[int]] = {}
    for member in sorted(last_of):
        found.setdefault(last_of[member], []).append(member)
    return found


def _fuse(items: tuple[Item, ...], elsewhere: frozenset[str]) -> tuple[Item, ...]:
    found = chains(items, elsewhere)
    inner = {i for members in found.values() for i in members}
    out: list[Item] = []
    for i, item in enumerate(items):
        if i in inner:
            continue
        if i in found and isinstance(item, Compute):
            body = tuple(c for j in (*found[i], i) if isinstance(c := items[j], Compute))
            item = ThreadGraph(item.out, body, item.dims)
        out.append(item)
    return tuple(out)


def thread_fusion(m: MuGraph) -> MuGraph:
    """Maximal chains of pointwise operators, each inner result read once, become thread graphs."""
    return each_body(m, _fuse)
