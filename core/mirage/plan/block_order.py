"""The order of a kernel's grid dims: blocks that run side by side share what they read, so that less of it comes from memory twice."""

from __future__ import annotations

import math
from dataclasses import replace

from mirage.ir.dtypes import DTYPES
from mirage.mugraph.block_order import GROUPS, KEPT, TensorReads, best_order
from mirage.mugraph.capacity import Limits
from mirage.mugraph.grammar import BlockGraph, CustomKernel, Load, Loop, MuGraph, TileDim
from mirage.mugraph.walk import dims_of_axes, size_of


def blocks(m: MuGraph, d: TileDim) -> int:
    """How many blocks a grid dim has."""
    return d.parts if d.role == "split" else math.ceil(size_of(m, d) / d.tile)


def readings(m: MuGraph, graph: BlockGraph) -> dict[str, TensorReads]:
    """What a launch of the block graph reads of each tensor."""
    dim_of, sizes = dims_of_axes(graph), dict(m.axes)
    found: dict[str, TensorReads] = {}
    for item in graph.body:
        for s in item.body if isinstance(item, Loop) else (item,):
            if not isinstance(s, Load):
                continue
            axes = [a for d in s.index for a in d.axes]
            own = {dim_of[a].name for a in axes if a in dim_of}
            along = frozenset(d.name for d in graph.grid if d.name in own or d.splits in own)
            size = float(DTYPES[m.tensor(s.tensor).dtype].bytes * math.prod(sizes[a] for a in axes))
            known = found.get(s.tensor, TensorReads(0.0, frozenset()))
            found[s.tensor] = TensorReads(max(size, known.bytes), known.dims | along)
    return found


def ordered(m: MuGraph, kernel: CustomKernel, limits: Limits) -> CustomKernel:
    """The kernel with its grid dims in their best order, or its blocks in groups. A tail counts its groups by the order that they have: it
    keeps it."""
    graph, kept = kernel.block, KEPT * limits.l2
    grid = [(d.name, blocks(m, d)) for d in graph.grid]
    read = readings(m, graph)
    again = {name: r for name, r in read.items() if any(n > 1 and name_ not in r.dims for name_, n in grid)}
    if kernel.tail is not None or len(grid) < 2 or sum(r.bytes for r in again.values()) <= kept:
        return kernel
    split = any(d.role == "split" for d in graph.grid)
    order = best_order(grid, again, kept, () if split else GROUPS)
    places = iter(order.names)
    dims = tuple(graph.dim(next(places)) if d.role in ("grid", "split") else d for d in graph.dims)
    dims = tuple(replace(d, group=order.group if d.name == order.grouped else 0) for d in dims)
    return replace(kernel, block=replace(graph, dims=dims))


def block_order(m: MuGraph, limits: Limits) -> MuGraph:
    """The µGraph with every kernel's grid dims in their best order."""
    return replace(m, kernels=tuple(ordered(m, k, limits) if isinstance(k, CustomKernel) else k for k in m.kernels))
