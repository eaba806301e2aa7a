"""Tile sizes for a layout: aligned to the hardware, few, best guesses first; under a narrowing every power of two."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from mirage.ir.narrowing import FREE, Narrowing
from mirage.mugraph.decisions import LEAST_DOT
from mirage.mugraph.grammar import TileDim
from mirage.search.tile_dims import EVEN, Layout

MAX_RESIDENT = 16384  # elements of a resident row
PARTS = (2, 4, 8, 16, 32, 64)
VECTOR = 8192  # elements of a tile of products that four warps hold in registers
LARGEST = 4096  # elements along one dim of a tile, under a narrowing
LONG, WIDEST = 512, 256  # elements along both sides of a large product; along a side of its widest tile
WIDE, DEEP = 32768, 64  # elements of its widest tile of sums; along the contracted dim of what it loads at once
ELEMENTWISE = (1024, 2048, 512, 4096, 256, 8192)  # elements of a block that reduces nothing
SHORT = (2048, 4096)  # of a block whose rows are short
BESIDE = (4096, 1024)  # of what a block writes for each row that it reduces
ACROSS = (32, 64, 16)  # of its columns, where a tensor is read along its rows


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def power(n: int) -> int:
    """The smallest power of two that is at least `n`."""
    return 1 << max(0, (n - 1).bit_length())


def clipped(options: tuple[int, ...], size: int, least: int) -> list[int]:
    top = max(least, power(size))
    return list(dict.fromkeys(min(max(o, least), top) for o in options))


def powers(least: int, n: int) -> list[int]:
    """Every power of two from `least` to the whole of `n`, the middle of the range first."""
    found = []
    tile = least
    while tile <= min(max(least, power(n)), LARGEST):
        found.append(tile)
        tile *= 2
    return sorted(found, key=lambda x: (abs(x.bit_length() - 7), x))


def counts(given: Narrowing) -> frozenset[int] | None:
    """The numbers of blocks that a dim of the grid may have; None: any."""
    if given.griddims is None:
        return None
    return frozenset({1}.union(*given.griddims))


def group_tiles(given: Narrowing, least: int, n: int) -> list[int]:
    """The tiles of a parallel dim of `n` elements."""
    allowed = counts(given)
    return [x for x in powers(least, n) if allowed is None or ceil_div(n, x) in allowed]


def loop_tiles(given: Narrowing, least: int, n: int) -> list[int]:
    """The tiles of a looped dim, whose range may be shared by several blocks."""
    if given.franges is None:
        return powers(least, n)
    shares = (1, *parts_of(given))
    return [x for x in powers(least, n) if any(ceil_div(ceil_div(n, x), p) in given.franges for p in shares)]


def parts_of(given: Narrowing) -> tuple[int, ...]:
    """The numbers of parts of a split."""
    allowed = counts(given)
    return PARTS if allowed is None else tuple(sorted(allowed - {1}))


def dim_options(
    lay: Layout, sizes: dict[str, int], loops: tuple[str, ...], given: Narrowing = FREE
) -> list[list[TileDim]] | None:
    """For each tile dim its options, `loops` being the axes that are looped over; None if a resident dim is too large."""
    out: list[list[TileDim]] = [[TileDim(a, (a,), 1, "grid")] for a in lay.batch]
    inner = math.prod(power(sizes[a]) for a in lay.inner)
    wide = large_product(lay, sizes)
    for g in lay.groups:
        n = math.prod(sizes[a] for a in g)
        tiles = (
            group_tiles(given, LEAST_DOT if lay.dotted & set(g) else 1, n)
            if given
            else group_options(lay, g, n, inner, wide)
        )
        # one tile of the whole dim: no grid dim at all
        out.append([TileDim("_".join(g), g, o, "resident" if o >= n and n > 1 else "grid") for o in tiles])
    for a in lay.inner:
        n, least = sizes[a], LEAST_DOT if a in lay.dotted else 1
        if a in loops:
            out.append([TileDim(a, (a,), o, "loop") for o in loop_options(lay, a, n, given)])
        elif power(n) > MAX_RESIDENT:
            return None
        else:
            out.append([TileDim(a, (a,), max(least, power(n)), "resident")])
    return out


def large_product(lay: Layout, sizes: dict[str, int]) -> bool:
    """True if both sides of the products are long: then tiles as wide as the registers hold read least from L2."""
    sides = [math.prod(sizes[a] for a in g) for g in lay.groups if lay.dotted & set(g)]
    return sum(n >= LONG for n in sides) > 1


def far_from_wide(lay: Layout, dims: tuple[TileDim, ...]) -> tuple[float, float]:
    """How far tiles of sums are from the widest that a large product has in registers, and what it contracts at once from `DEEP`."""
    wide = math.prod(d.tile for d in dims if d.axes in lay.groups and lay.dotted & set(d.axes))
    deep = math.prod(d.tile for d in dims if set(d.axes) <= set(lay.inner) and lay.dotted & set(d.axes))
    return abs(math.log2(wide / WIDE)), abs(math.log2(deep / DEEP))


def group_options(lay: Layout, g: tuple[str, ...], n: int, inner: int, wide: bool) -> list[int]:
    """The tiles of a group of parallel axes with `n` elements, beside `inner` bound ones; of a large product also wide ones."""
    if lay.dotted & set(g):
        options = clipped(
            (64, 32, 128, 16, *((WIDEST,) if wide else ())) if g != lay.groups[0] or n > 16 else (16,), n, LEAST_DOT
        )
        whole = max(LEAST_DOT, power(n))
        # one tile of the whole dim spares recomputing what the other operand needs
        return [whole, *(o for o in options if o != whole)] if whole <= 128 else options
    if lay.beside >= set(g):
        return clipped(BESIDE, n, 1)
    short = tuple(x // inner for x in SHORT if x // inner > 128)
    return clipped((128, 64, 16) if lay.batch else (1, 2, 4, 8, 16, 64, 128, *short), n, 1)


def loop_options(lay: Layout, axis: str, n: int, given: Narrowing) -> list[int]:
    """The tiles of a looped axis with `n` elements."""
    if axis in lay.serial:
        return [1]
    dotted = axis in lay.dotted
    if given:
        return loop_tiles(given, LEAST_DOT if dotted else 1, n)
    if dotted:
        return clipped((64, 128, 32, 256), n, LEAST_DOT)
    return clipped((1024, 256, 64, 32, 512, 2048, 4096), n, 1)


def tilings(
    lay: Layout, sizes: dict[str, int], loops: tuple[str, ...], given: Narrowing = FREE
) -> Iterator[tuple[TileDim, ...]]:
    """Every choice of tiles; without tensor cores those first whose largest tile is near `VECTOR` elements, of any shape:
    which shape is best depends on how the tensors lie in memory."""
    if not (lay.inner or given):
        yield from elementwise(lay, sizes)
        return
    options = dim_options(lay, sizes, loops, given)
    if options is None:
        return
    every = product(*options)
    if large_product(lay, sizes) and not given:
        yield from sorted(every, key=lambda dims: far_from_wide(lay, dims))
    elif lay.dotted or given or not loops:
        yield from every
    else:

        def reduced(dims: tuple[TileDim, ...]) -> int:
            return math.prod(d.tile for d in dims if not lay.beside >= set(d.axes))

        yield from sorted(every, key=lambda dims: abs(math.log2(reduced(dims) / VECTOR)))


def elementwise(lay: Layout, sizes: dict[str, int]) -> Iterator[tuple[TileDim, ...]]:
    """The tiles of a kernel that reduces nothing: of the fastest group as much as a block takes, of the others the rest. Where a
    tensor lies the other way round, tiles that are long along both first."""
    if not lay.groups:
        yield ()
        return
    extents = [math.prod(sizes[a] for a in g) for g in lay.groups]
    columns, even = power(extents[-1]), extents[-1] & -extents[-1]
    widths = [
        w
        for w in (*(ACROSS if lay.turned else ()), *({even} if even >= EVEN else ()), columns, 1024, 256)
        if w <= columns
    ]
    seen: set[tuple[int, ...]] = set()
    for most, width in product(ELEMENTWISE, dict.fromkeys(widths)):
        tiles = [min(width, most)]
        if len(extents) > 1:
            tiles.insert(0, min(most // tiles[-1], power(extents[0])))
        if tuple(tiles) not in seen:
            seen.add(tuple(tiles))
            yield tuple(
                TileDim("_".join(g), g, o, "resident" if o >= n > 1 else "grid")
                for g, n, o in zip(lay.groups, extents, tiles, strict=True)
            )


def split_options(sizes: dict[str, int], dims: tuple[TileDim, ...], given: Narrowing = FREE) -> list[int]:
    """Numbers of parts that a looped dim can be split into, so that every part has work."""
    loop = next((d for d in dims if d.role == "loop"), None)
    if loop is None:
        return []
    tiles = ceil_div(sizes[loop.axes[0]], loop.tile)
    return [p for p in parts_of(given) if (p - 1) * ceil_div(tiles, p) < tiles]
