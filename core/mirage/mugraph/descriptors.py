"""Tensor descriptors: of which loads a device can copy the tile as a whole, and what the descriptor says of the tensor.

A descriptor has at most five dims, each the axes of one tile dim, in the order in which they lie in memory; beyond a dim's size it
reads zero. The device wants the base and every stride but the last, which is one, to be multiples of 16 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from mirage.ir.dtypes import DTYPES
from mirage.mugraph.grammar import BlockGraph, Load, Loop, MuGraph, TileDim
from mirage.mugraph.text import number
from mirage.mugraph.walk import dims_of_axes, each_block, size_of

ALIGNED = 16  # bytes
MOST_DIMS, MOST_TILE = 5, 256  # of a descriptor; elements of a tile along a dim
COPIED = ("fp16", "bf16", "fp32")


def described(m: MuGraph, graph: BlockGraph, s: Load) -> tuple[TileDim, ...]:
    """The tile dims of a load's descriptor in the order of memory; none where the tensor is not whole tile dims in a row."""
    tensor = m.tensor(s.tensor)
    if any(n is not None for n in tensor.rigid) or any(d.offset for d in s.index):
        return ()
    axes = [a for d in s.index for a in d.axes]
    owners = dims_of_axes(graph)
    dims = tuple(dict.fromkeys(owners[a] for a in axes if a in owners))
    whole = tuple(d.axes for d in s.index) == tensor.dims and [a for d in dims for a in d.axes] == axes
    return dims if whole and not any(d.role == "split" for d in dims) else ()


def strides(m: MuGraph, dims: tuple[TileDim, ...]) -> tuple[int, ...]:
    """The stride of each dim, in elements."""
    sizes = [size_of(m, d) for d in dims]
    return tuple(math.prod(sizes[i + 1 :]) for i in range(len(dims)))


def refused(m: MuGraph, graph: BlockGraph, s: Load) -> str:
    """Why a device cannot copy the load's tile by a descriptor; "" where it can."""
    tensor, dims = m.tensor(s.tensor), described(m, graph, s)
    if graph.cluster > 1:
        return "blocks of a cluster copy nothing by descriptors"
    if tensor.dtype not in COPIED:
        return f"a descriptor of {tensor.dtype}"
    if not 0 < len(dims) <= MOST_DIMS:
        return "its index is not whole tile dims in the order of memory"
    if number(s.pad) != "0.0":
        return f"a descriptor reads 0 beyond its tensor, not {number(s.pad)}"
    item = DTYPES[tensor.dtype].bytes
    if dims[-1].tile * item < ALIGNED or any(d.tile > MOST_TILE for d in dims):
        return f"tiles have at least {ALIGNED} bytes along the last dim and at most {MOST_TILE} elements along each"
    if any(n * item % ALIGNED for n in strides(m, dims)[:-1]):
        return f"its strides are no multiples of {ALIGNED} bytes"
    return ""


def with_loads(graph: BlockGraph, change: Callable[[Load], Load]) -> BlockGraph:
    """The block graph with every load changed."""
    body = tuple(
        replace(x, body=tuple(change(s) if isinstance(s, Load) else s for s in x.body))
        if isinstance(x, Loop)
        else change(x)
        if isinstance(x, Load)
        else x
        for x in graph.body
    )
    return graph if body == graph.body else replace(graph, body=body)


def where_they_fit(m: MuGraph) -> MuGraph:
    """The µGraph with pointers for what no device copies by a descriptor at its sizes."""

    def block(graph: BlockGraph) -> BlockGraph:
        return with_loads(
            graph, lambda s: replace(s, by="pointers") if s.by == "descriptor" and refused(m, graph, s) else s
        )

    return each_block(m, block)
