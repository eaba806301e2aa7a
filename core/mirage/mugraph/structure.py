"""The structure of a µGraph: what is left when sizes, tiles and names are erased; and its form with names alone erased."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from mirage.mugraph.descriptors import with_loads
from mirage.mugraph.grammar import BlockGraph, CustomKernel, LibraryKernel, MuGraph, TileDim
from mirage.mugraph.json_form import to_json
from mirage.mugraph.rename import Renaming, rename, tiles
from mirage.mugraph.walk import PlacedBlock, each_block, sites


class _Numbered:
    """Names by order of first use: a0, a1, ..."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.seen: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        return self.seen.setdefault(name, f"{self.prefix}{len(self.seen)}")


def _erase_dim(d: TileDim) -> TileDim:
    # A scalar dim stays one: whether a dim is a scalar decides what its block can be.
    return replace(d, tile=1 if d.tile == 1 else 2, parts=1, group=0)


def _erase_block(b: BlockGraph) -> BlockGraph:
    b = with_loads(b, lambda s: replace(s, by="pointers"))
    return replace(b, dims=tuple(_erase_dim(d) for d in b.dims))


def erase(m: MuGraph) -> MuGraph:
    """The µGraph with canonical names, every size 2, every tile 1 (scalar) or 2, warps and stages at their defaults.
    The result is a key, not a valid µGraph."""
    kernels: list[CustomKernel | LibraryKernel] = []
    for k in m.kernels:
        if isinstance(k, CustomKernel):
            tail = _erase_block(k.tail) if k.tail is not None else None
            kernels.append(CustomKernel(k.name, _erase_block(k.block), tail))
        else:
            kernels.append(k)
    tensors = tuple(replace(t, rigid=tuple(None if n is None else 0 for n in t.rigid)) for t in m.tensors)
    axes = tuple((a, 2) for a, _ in m.axes)
    return canonical(replace(m, axes=axes, tensors=tensors, kernels=tuple(kernels)))


def canonical(m: MuGraph) -> MuGraph:
    """The µGraph with names by order of use, so that two which differ in names, notes, and the order of what has none
    (axes, tensors, dims inside a block) are equal. Sizes, tiles, warps and stages stay."""
    m = _tiles_numbered(m)
    names = Renaming(_Numbered("a"), _Numbered("x"), _Numbered("k"), _Numbered("d"), str)
    for t in m.inputs:  # parameters are told apart by their place
        names.tensor(t.name)
    # Axes and dims are numbered by their use, so that the order of the list of axes does not matter.
    for axes in (axes for t in m.inputs for axes in t.dims):
        for a in axes:
            names.axis(a)
    for k in m.kernels:
        if isinstance(k, CustomKernel):
            for part in (PlacedBlock(k, "block", k.block), *((PlacedBlock(k, "tail", k.tail),) if k.tail else ())):
                for s in sites(part):
                    for d in getattr(s.statement, "dims", ()):
                        names.dim(d)
    out = rename(replace(m, name="m", notes=()), names)
    kinds = {"input": 0, "temp": 1, "output": 2}
    blocks: list[CustomKernel | LibraryKernel] = []
    for c in out.kernels:
        if isinstance(c, CustomKernel):
            c = replace(c, block=_sorted_dims(c.block), tail=_sorted_dims(c.tail) if c.tail else None)
        blocks.append(c)
    listed = tuple(sorted(out.tensors, key=lambda t: (kinds[t.kind], t.name)))
    return replace(out, axes=tuple(sorted(out.axes)), tensors=listed, kernels=tuple(blocks))


def _tiles_numbered(m: MuGraph) -> MuGraph:
    """Tiles by order of use in each block: two blocks know nothing of each other's."""

    return each_block(m, lambda b: tiles(_Numbered("v"), b))


def _sorted_dims(b: BlockGraph) -> BlockGraph:
    """Grid dims keep their order, which is the launch's; the order of the others means nothing."""
    rest = sorted((d for d in b.dims if d not in b.grid), key=lambda d: d.name)
    return replace(b, dims=(*b.grid, *rest))


def structure_key(m: MuGraph) -> str:
    """A digest that is equal for µGraphs that differ in sizes, tiles, warps, stages and names alone."""
    text = json.dumps(to_json(erase(m)), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
