"""Rules on device tensors: every element of an output or temp is written exactly once, and before it is read.

A store is a box: its index sends each element of its axes to one element of a box of the tensor. It hits every element
of the box once when each of its axes is fully visited and each dim that makes several blocks is in its index. Then the
boxes of a tensor's stores must be disjoint and fill it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mirage.ir.index import DimIndex
from mirage.mugraph.grammar import CustomKernel, LibraryKernel, Load, MuGraph, Store
from mirage.mugraph.rules.breach import Breach, Limits, breach
from mirage.mugraph.walk import PlacedBlock, Site, parts, sites

Box = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Write:
    """One writer of a tensor: kernel `order`, its place, and the box that it fills."""

    order: int
    where: str
    box: Box


def box(m: MuGraph, index: tuple[DimIndex, ...]) -> Box:
    """The half-open range of each dimension that an index reaches."""
    return tuple((d.offset, d.offset + math.prod(m.size(a) for a in d.axes)) for d in index)


def once(m: MuGraph, limits: Limits) -> None:
    """Disjoint writes within one store: every grid and split dim is in the index, no axis is there twice."""
    for part in parts(m):
        for s in sites(part):
            if isinstance(s.statement, Store):
                _once(m, part, s, s.statement)


def _once(m: MuGraph, part: PlacedBlock, s: Site, x: Store) -> None:
    if m.tensor(x.tensor).kind == "input":
        raise breach(s, f"{x.tensor} is an input")
    axes = [a for d in x.index for a in d.axes]
    if len(set(axes)) != len(axes):
        raise breach(s, "an axis stands twice in the index, so only a diagonal is written")
    for d in part.graph.grid:
        # inside the loop that a split shares, each block has its own tiles of the loop
        shared = d.role == "split" and s.loop is not None and s.loop.dim == d.splits
        if d.name in x.first and d.role == "grid" and not set(d.axes) & set(axes):
            continue  # the tile is the same along d (rule tiles) and the first block writes it
        if not set(d.axes) <= set(axes) and not shared:
            raise breach(s, f"the blocks along {d.name} all write the same elements of {x.tensor}")
    unknown = set(x.first) - {d.name for d in part.graph.dims if d.role == "grid" and not set(d.axes) & set(axes)}
    if unknown:
        raise breach(s, f"only the first block along {sorted(unknown)[0]} writes, but blocks along it differ")
    for d in part.graph.dims:
        missing = set(d.axes) - set(axes)
        if missing and set(d.axes) & set(axes):
            raise breach(s, f"axis {sorted(missing)[0]} of dim {d.name} is not in the index: writes collide")


def writes_of(m: MuGraph) -> Iterator[tuple[str, Write]]:
    """Every write of every tensor, with the kernel's place in launch order."""
    order = {k.name: i for i, k in enumerate(m.kernels)}
    for k in m.kernels:
        if isinstance(k, LibraryKernel):
            yield k.out, Write(order[k.name], k.name, tuple((0, n) for n in m.shape(m.tensor(k.out))))
    for part in parts(m):
        for s in sites(part):
            if isinstance(s.statement, Store):
                x = s.statement
                yield x.tensor, Write(order[part.kernel.name], part.where, box(m, x.index))


def _meet(a: Box, b: Box) -> bool:
    return all(x[0] < y[1] and y[0] < x[1] for x, y in zip(a, b, strict=True))


def cover(m: MuGraph, limits: Limits) -> None:
    """The boxes of all stores to a temp or output are disjoint and fill it."""
    found: dict[str, list[Write]] = {}
    for name, write in writes_of(m):
        found.setdefault(name, []).append(write)
    for t in m.tensors:
        if t.kind == "input":
            continue
        boxes = found.get(t.name, [])
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                if _meet(a.box, b.box):
                    raise Breach(a.where, f"two stores write the same elements of {t.name}")
        filled = sum(math.prod(hi - lo for lo, hi in w.box) for w in boxes)
        if filled != math.prod(m.shape(t)):
            where = boxes[0].where if boxes else ""
            raise Breach(where, f"{filled} of the {math.prod(m.shape(t))} elements of {t.name} are written")


def order(m: MuGraph, limits: Limits) -> None:
    """A temp is read only by later kernels, or by the tail of the kernel that writes it."""
    last: dict[str, Write] = {}
    for name, write in writes_of(m):
        if name not in last or write.order >= last[name].order:
            last[name] = write
    kinds = {t.name: t.kind for t in m.tensors}
    for i, k in enumerate(m.kernels):
        if isinstance(k, LibraryKernel):
            for a in k.args:
                if kinds[a] != "input" and last[a].order >= i:
                    raise Breach(k.name, f"{a} is read before it is written")
    place = {k.name: i for i, k in enumerate(m.kernels)}
    for part in parts(m):
        i = place[part.kernel.name]
        for s in sites(part):
            if not isinstance(s.statement, Load) or kinds[s.statement.tensor] == "input":
                continue
            writer = last[s.statement.tensor]
            if writer.order > i or (writer.order == i and part.role == "block"):
                raise breach(s, f"{s.statement.tensor} is read before every block has written it")


def group(m: MuGraph, limits: Limits) -> None:
    """A tail reads only what its own group of blocks stored: at the same grid coordinates, not another group's."""
    for k in m.kernels:
        if not isinstance(k, CustomKernel) or k.tail is None:
            continue
        stores = {x.tensor: x for s in sites(PlacedBlock(k, "block", k.block)) if isinstance(x := s.statement, Store)}
        axes = {a for d in k.tail.grid for a in d.axes}
        for s in sites(PlacedBlock(k, "tail", k.tail)):
            x = s.statement
            if isinstance(x, Store) and x.tensor in stores:
                raise breach(s, "the tail writes a tensor that the block writes")
            if isinstance(x, Load) and x.tensor in stores:
                for ours, theirs in zip(x.index, stores[x.tensor].index, strict=True):
                    if (axes & {*ours.axes, *theirs.axes}) and ours != theirs:
                        raise breach(s, f"it reads elements of {x.tensor} that other groups store")
                seen = {a for i in stores[x.tensor].index for a in i.axes}
                if not axes <= seen:
                    raise breach(s, f"{x.tensor} is not stored for each group apart")
