"""Instantiation under a narrowing: tiles for the grid dims and loop ranges, the order of the grid's dims, warps, and maps.

Where nothing is asked, a dim has a few tiles that suit the hardware. Under a narrowing it has every power of two, so that
no kernel within it is missed. Tiles that cannot give a required grid or range are left out at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import permutations, product

from mirage.ir.narrowing import Narrowing, Three
from mirage.mugraph.grammar import BlockGraph, CustomKernel, Load, Loop, Store, TileDim
from mirage.mugraph.maps import fmap, imap, omap
from mirage.search.tile_sizes import ceil_div, group_tiles

NARROW = 32  # elements of a tile of a kernel that combines parts
AXES = 3  # of a grid


def extent(d: TileDim, sizes: Mapping[str, int]) -> int:
    n = 1
    for a in d.axes:
        n *= sizes[a]
    return n


def blocks(d: TileDim, sizes: Mapping[str, int]) -> int:
    """Blocks along a dim of the grid."""
    return d.parts if d.role == "split" else ceil_div(extent(d, sizes), d.tile)


def is_grid(d: TileDim) -> bool:
    return d.role in ("grid", "split")


def loop_range(d: TileDim, dims: Iterable[TileDim], sizes: Mapping[str, int]) -> int:
    parts = next((s.parts for s in dims if s.role == "split" and s.splits == d.name), 1)
    return ceil_div(ceil_div(extent(d, sizes), d.tile), parts)


def arrange(given: Narrowing, dims: tuple[TileDim, ...], sizes: Mapping[str, int]) -> Iterator[tuple[TileDim, ...]]:
    """The dims with the grid's in every order that is asked for; as they are where no grid is."""
    if given.griddims is None:
        yield dims
        return
    grid = [d for d in dims if is_grid(d)]
    rest = tuple(d for d in dims if not is_grid(d))
    seen: set[tuple[str, ...]] = set()
    for wanted in given.griddims:
        shape = tuple(n for n in wanted if n > 1)
        wide = [d for d in grid if blocks(d, sizes) > 1]
        flat = tuple(d for d in grid if blocks(d, sizes) == 1)
        if sorted(shape) != sorted(blocks(d, sizes) for d in wide):
            continue
        for order in permutations(wide):
            key = tuple(d.name for d in order)
            if key not in seen and tuple(blocks(d, sizes) for d in order) == shape:
                seen.add(key)
                yield (*order, *flat, *rest)


def group_choices(
    given: Narrowing, grid: tuple[TileDim, ...], sizes: Mapping[str, int]
) -> Iterator[tuple[TileDim, ...]]:
    """The grid dims of a kernel that combines the parts of a split: small tiles, or those that give the grid asked for."""
    if given.griddims is None:
        yield tuple(replace(d, tile=NARROW, role="grid") if d.tile > NARROW else d for d in grid)
        return
    options = [
        [d] if d.tile == 1 else [
            replace(d, tile=x, role="resident" if x >= extent(d, sizes) > 1 else "grid")
            for x in group_tiles(given, 1, extent(d, sizes))
        ]
        for d in grid
    ]  # fmt: skip
    for choice in product(*options):
        yield from arrange(given, choice, sizes)


def _axes(block: BlockGraph, sizes: Mapping[str, int]) -> list[str]:
    """The grid dims with more than one block, in order: what a map's entries stand for."""
    return [d.name for d in block.grid if blocks(d, sizes) > 1]


def _fits(cut: Mapping[str, int | None], names: list[str], grids: list[Three], maps: tuple[Three, ...]) -> bool:
    """True if a derived map is among `maps`. An entry for a grid dim of one block says nothing."""
    if len(names) > AXES:
        return False
    have = [-1 if cut[n] is None else cut[n] for n in names]
    for shape in grids:
        places = [i for i, n in enumerate(shape) if n > 1]
        if any([m[i] for i in places] == have for m in maps):
            return True
    return False


def _statements(block: BlockGraph) -> Iterator[tuple[Loop | None, object]]:
    for item in block.body:
        if isinstance(item, Loop):
            yield from ((item, s) for s in item.body)
        else:
            yield None, item


def _index_kept(block: BlockGraph, given: Narrowing, sizes: Mapping[str, int]) -> bool:
    names = _axes(block, sizes)
    shape = tuple(blocks(block.dim(n), sizes) for n in names)
    if given.griddims is None:
        grids: list[Three] = [(2, 2, 2)[: len(shape)] + (1,) * (AXES - len(shape))]  # type: ignore[list-item]
    else:
        grids = [g for g in given.griddims if tuple(n for n in g if n > 1) == shape]
    for loop, s in _statements(block):
        if isinstance(s, Load):
            if given.imaps is not None and not _fits(imap(block, s), names, grids, given.imaps):
                return False
            if loop is not None and given.fmaps is not None:
                cut = fmap(block, loop, s)
                if (-1 if cut is None else cut) not in given.fmaps:
                    return False
        elif isinstance(s, Store) and given.omaps is not None and not _fits(omap(block, s), names, grids, given.omaps):
            return False
    return True


def keeps(given: Narrowing, kernel: CustomKernel, sizes: Mapping[str, int]) -> bool:
    """True if a kernel is within the narrowing. Its tail has the same grid, and is held to the maps as well."""
    for block in (kernel.block, *((kernel.tail,) if kernel.tail is not None else ())):
        if given.griddims is not None and block is kernel.block:
            shape = tuple(n for d in block.grid if (n := blocks(d, sizes)) > 1)
            if shape not in {tuple(n for n in g if n > 1) for g in given.griddims}:
                return False
        ranges = [loop_range(block.dim(s.dim), block.dims, sizes) for s in block.body if isinstance(s, Loop)]
        if given.franges is not None and not set(ranges) <= set(given.franges):
            return False
        if not _index_kept(block, given, sizes):
            return False
    return given.warps is None or kernel.warps in given.warps


def with_launch(given: Narrowing, kernels: tuple[CustomKernel, ...]) -> Iterator[tuple[CustomKernel, ...]]:
    """The kernels with every choice of the threads and clusters asked for; as they are where none is. A tail waits for
    single blocks, so its kernel has no cluster."""
    options = [
        [
            replace(k, warps=w, block=replace(k.block, cluster=c))
            for w in given.warps or (k.warps,) for c in given.clusters or (1,) if c == 1 or k.tail is None
        ]
        for k in kernels
    ]  # fmt: skip
    yield from product(*options)
