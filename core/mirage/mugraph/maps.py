"""The paper's maps, derived from a µGraph's indices: imap, omap, fmap, grid dims and for-loop ranges.

imap  where each grid dim cuts the tensor that an input iterator reads (None: each block along it reads the same)
omap  where each grid dim cuts the tensor that an output saver writes
fmap  where the loop's dim cuts the tensor (None: each iteration reads the same)
A dim of several axes that are indexed apart cuts at the dimension of its first axis.
"""

from __future__ import annotations

from mirage.ir.index import DimIndex
from mirage.mugraph.grammar import BlockGraph, CustomKernel, Load, Loop, MuGraph, Store, TileDim
from mirage.mugraph.walk import size_of

Map = dict[str, int | None]


def _kernel(m: MuGraph, kernel: str | CustomKernel) -> CustomKernel:
    if isinstance(kernel, CustomKernel):
        return kernel
    found = next((k for k in m.kernels if k.name == kernel), None)
    if not isinstance(found, CustomKernel):
        raise KeyError(kernel)
    return found


def tile_count(m: MuGraph, dim: TileDim) -> int:
    """How many tiles a dim is cut into: ceil(size / tile); a split dim's parts."""
    return -(-size_of(m, dim) // dim.tile)


def grid(m: MuGraph, kernel: str | CustomKernel) -> tuple[int, ...]:
    """The grid dims of a kernel: blocks along each grid or split dim, in order."""
    return tuple(tile_count(m, d) for d in _kernel(m, kernel).block.grid)


def split_of(block: BlockGraph, loop: str) -> TileDim | None:
    """The split dim that shares the loop over `loop`, if any."""
    return next((d for d in block.dims if d.role == "split" and d.splits == loop), None)


def loop_range(m: MuGraph, kernel: str | CustomKernel, loop: str | Loop) -> int:
    """The for-loop range: iterations of one block (the first one, where a split's shares are uneven)."""
    block = _kernel(m, kernel).block
    name = loop if isinstance(loop, str) else loop.dim
    split = split_of(block, name)
    total = tile_count(m, block.dim(name))
    return total if split is None else -(-total // split.parts)


def _cut(dim: TileDim, index: tuple[DimIndex, ...]) -> int | None:
    return next((i for a in dim.axes for i, entry in enumerate(index) if a in entry.axes), None)


def _grid_map(block: BlockGraph, index: tuple[DimIndex, ...]) -> Map:
    """A split dim cuts where its own axis is indexed, else where the loop that it shares is."""
    cuts: Map = {}
    for d in block.grid:
        own = _cut(d, index)
        cuts[d.name] = _cut(block.dim(d.splits), index) if own is None and d.role == "split" else own
    return cuts


def imap(block: BlockGraph, load: Load) -> Map:
    """Grid dim -> dimension of the tensor that it cuts."""
    return _grid_map(block, load.index)


def omap(block: BlockGraph, store: Store) -> Map:
    """Grid dim -> dimension of the tensor that it cuts."""
    return _grid_map(block, store.index)


def fmap(block: BlockGraph, loop: Loop, load: Load | Store) -> int | None:
    """The dimension of the tensor that the loop's dim cuts."""
    return _cut(block.dim(loop.dim), load.index)
