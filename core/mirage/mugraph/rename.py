"""A µGraph with other names: one walk that every pass which renames shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mirage.ir.index import DimIndex
from mirage.mugraph import old_value
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    DTensor,
    LibraryKernel,
    Load,
    Loop,
    MuGraph,
    Statement,
    Store,
    ThreadGraph,
)

Rename = Callable[[str], str]


@dataclass(frozen=True)
class Renaming:
    """What each kind of name becomes."""

    axis: Rename
    tensor: Rename
    kernel: Rename
    dim: Rename
    tile: Rename

    def reference(self, name: str) -> str:
        """A tile's name as an argument, with `@old` kept."""
        bare = old_value.bare(name)
        return self.tile(bare) + name[len(bare) :]

    def index(self, index: tuple[DimIndex, ...]) -> tuple[DimIndex, ...]:
        return tuple(DimIndex(tuple(map(self.axis, i.axes)), i.offset) for i in index)

    def dims(self, dims: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self.dim, dims))


def compute(n: Renaming, c: Compute) -> Compute:
    by = {"dim": n.dim, "axis": n.axis}
    attrs = tuple((k, by[k](v) if k in by else v) for k, v in c.attrs)
    return Compute(n.tile(c.out), c.op, tuple(map(n.reference, c.args)), n.dims(c.dims), attrs)


def statement(n: Renaming, s: Statement) -> Statement:
    """One statement under the names."""
    if isinstance(s, Compute):
        return compute(n, s)
    if isinstance(s, Load):
        return Load(n.tile(s.out), n.tensor(s.tensor), n.index(s.index), n.dims(s.dims), s.pad, s.by)
    if isinstance(s, ThreadGraph):
        body = tuple(compute(n, c) for c in s.body)
        return ThreadGraph(n.tile(s.out), body, n.dims(s.dims))
    if isinstance(s, Accumulate):
        arg = n.reference(s.arg)
        update = tuple((n.reference(c), n.tile(a) if a else "") for c, a in s.update)
        start = n.tile(s.start) if s.start else ""
        return Accumulate(n.tile(s.out), s.op, arg, n.dims(s.dims), update, start)
    return Store(n.tensor(s.tensor), n.reference(s.tile), n.index(s.index), n.dims(s.first))


def block(n: Renaming, b: BlockGraph) -> BlockGraph:
    dims = tuple(
        replace(d, name=n.dim(d.name), axes=tuple(map(n.axis, d.axes)), splits=n.dim(d.splits) if d.splits else "")
        for d in b.dims
    )
    body: list[Statement | Loop] = []
    for item in b.body:
        if isinstance(item, Loop):
            body.append(Loop(n.dim(item.dim), tuple(statement(n, s) for s in item.body)))
        else:
            body.append(statement(n, item))
    return BlockGraph(dims, tuple(body), b.cluster)


def tensor(n: Renaming, t: DTensor) -> DTensor:
    return replace(t, name=n.tensor(t.name), dims=tuple(tuple(map(n.axis, axes)) for axes in t.dims))


def rename(m: MuGraph, n: Renaming) -> MuGraph:
    """The µGraph under the names. Tiles of different blocks are renamed alike."""
    kernels: list[CustomKernel | LibraryKernel] = []
    for k in m.kernels:
        if isinstance(k, LibraryKernel):
            args = tuple(map(n.tensor, k.args))
            kernels.append(LibraryKernel(n.kernel(k.name), k.op, args, n.tensor(k.out), k.attrs))
        else:
            tail = block(n, k.tail) if k.tail is not None else None
            kernels.append(CustomKernel(n.kernel(k.name), block(n, k.block), tail, k.warps, k.stages, k.operands))
    axes = tuple((n.axis(a), size) for a, size in m.axes)
    return replace(m, axes=axes, tensors=tuple(tensor(n, t) for t in m.tensors), kernels=tuple(kernels))


def tiles(naming: Rename, b: BlockGraph) -> BlockGraph:
    """A block with other names of its tiles, and of nothing else."""
    return block(Renaming(str, str, str, str, naming), b)
