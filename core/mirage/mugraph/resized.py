"""A µGraph at other sizes and tiles: for verification on small launches, and for instantiation."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from mirage.errors import InvalidMugraph
from mirage.mugraph.descriptors import where_they_fit
from mirage.mugraph.grammar import BlockGraph, CustomKernel, LibraryKernel, MuGraph, TileDim
from mirage.mugraph.maps import split_of
from mirage.mugraph.walk import PlacedBlock, parts, sites
from mirage.mugraph.without_calls import dims_of_calls

Sizes = dict[str, int]
Tiles = dict[str, dict[str, int]]

SMALL_TILES = {"grid": (4,), "loop": (2, 4)}
ATTEMPTS = 4000
SMALL = 2**18  # elements of a block's whole iteration space: with a few draws of each what fits in a processor's cache
STARTS = 16  # further ones from which smaller sizes are looked for
SEVERAL_SPLITS = 256  # how far above the least size one is looked for that suits several splits of an axis


def next_power(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()


def _product(sizes: Mapping[str, int], axes: tuple[str, ...]) -> int:
    n = 1
    for a in axes:
        n *= sizes[a]
    return n


def _dim(d: TileDim, sizes: Mapping[str, int], tiles: Mapping[str, int]) -> TileDim:
    if d.role == "split":
        return replace(d, parts=sizes[d.name])
    if d.role == "resident":
        return replace(d, tile=max(next_power(_product(sizes, d.axes)), tiles.get(d.name, 1)))
    tile = tiles.get(d.name, d.tile)
    if not d.group:
        return replace(d, tile=tile)
    return replace(d, tile=tile, group=_group(tiles.get(d.group_key, d.group), -(-_product(sizes, d.axes) // tile)))


def _group(asked: int, blocks: int) -> int:
    """The group of so many blocks where `asked` are wanted: the largest up to that which divides them into several, else 1."""
    return max((n for n in range(1, min(asked, blocks - 1) + 1) if blocks % n == 0), default=1)


def _block(b: BlockGraph, sizes: Mapping[str, int], tiles: Mapping[str, int]) -> BlockGraph:
    return replace(b, dims=tuple(_dim(d, sizes, tiles) for d in b.dims))


def shrink(m: MuGraph, sizes: Mapping[str, int], tiles: Mapping[str, Mapping[str, int]] | None = None) -> MuGraph:
    """The µGraph at the axis sizes `sizes` and the tiles `tiles` (by kernel and dim; what is not named stays). Resident
    tiles follow their sizes, split parts the size of the split's axis, a tail's grid its block's; `NAME.tail` names the
    other dims of a tail. Rigid sizes stay; a descriptor whose strides no device takes gives way to pointers. Raises
    InvalidMugraph for an axis, kernel or dim that is not there."""
    tiles = tiles or {}
    known = dict(m.axes)
    for a in sizes:
        if a not in known:
            raise InvalidMugraph(f"{m.name}: there is no axis {a}")
    where = {p.where: {n for d in p.graph.dims for n in (d.name, d.group_key)} for p in parts(m)}
    for kernel, named in tiles.items():
        for dim in named:
            if dim not in where.get(kernel, ()):
                raise InvalidMugraph(f"{m.name}: there is no dim {kernel}.{dim}")
    now = {**known, **sizes}
    kernels: list[CustomKernel | LibraryKernel] = []
    for k in m.kernels:
        if isinstance(k, CustomKernel):
            own = tiles.get(k.name, {})
            tail = k.tail
            if tail is not None:
                grid = {d.name: own[d.name] for d in tail.grid if d.name in own}
                tail = _block(tail, now, {**tiles.get(f"{k.name}.tail", {}), **grid})
            k = replace(k, block=_block(k.block, now, own), tail=tail)
        kernels.append(k)
    return where_they_fit(replace(m, axes=tuple((a, now[a]) for a, _ in m.axes), kernels=tuple(kernels)))


def rigid_axes(m: MuGraph) -> frozenset[str]:
    """The axes that index a tensor's dimension of rigid size: their sizes cannot change without the offsets."""
    found: set[str] = set()
    for t in m.tensors:
        for axes, n in zip(t.dims, t.rigid, strict=False):
            found |= set(axes) if n is not None else set()
    for part in parts(m):
        for s in sites(part):
            index = getattr(s.statement, "index", ())
            if index:
                rigid = m.tensor(s.statement.tensor).rigid  # type: ignore[union-attr]
                for entry, n in zip(index, rigid, strict=False):
                    found |= set(entry.axes) if n is not None else set()
    return frozenset(found)


def same_size(m: MuGraph) -> dict[str, str]:
    """Axes that index one dimension of one tensor (a tensor read at two indices), or dims that a call of PyTorch's ties
    together, have one size: axis -> its class."""
    parent = {a: a for a, _ in m.axes}

    def find(a: str) -> str:
        while parent[a] != a:
            a = parent[a]
        return a

    dims = {t.name: tuple(zip(t.dims, t.rigid or (None,) * len(t.dims), strict=True)) for t in m.tensors}
    for part in parts(m):
        for s in sites(part):
            index = getattr(s.statement, "index", ())
            tensor = getattr(s.statement, "tensor", "")
            for entry, (have, rigid) in zip(index, dims.get(tensor, ()), strict=False):
                if rigid is None and len(entry.axes) == len(have):  # slices of a rigid dimension have any sizes
                    for a, b in zip(entry.axes, have, strict=True):
                        parent[find(a)] = find(b)
    for a, b in dims_of_calls(m)[1]:
        parent[find(a)] = find(b)
    return {a: find(a) for a in parent}


@dataclass(frozen=True)
class _Cut:
    """A dim that must get at least two tiles and a tail; with `split`, an uneven share for the last block too; `grouped`, several
    groups of blocks."""

    axes: tuple[str, ...]
    tile: int
    split: str = ""
    grouped: bool = False

    def holds(self, sizes: Mapping[str, int]) -> bool:
        size = _product(sizes, self.axes)
        if self.tile > 1 and (size <= 2 * self.tile or size % self.tile == 0):
            return False
        if self.grouped and (-(-size // self.tile) % 2 or size <= 3 * self.tile):
            return False
        if not self.split:
            return True
        count, blocks = -(-size // self.tile), sizes[self.split]
        share = -(-count // blocks)
        return share >= 2 and count % blocks != 0 and count > (blocks - 1) * share


def _cuts(m: MuGraph, tiles: Tiles, fixed: frozenset[str]) -> list[_Cut]:
    cuts = []
    for part in parts(m):
        for d in part.graph.dims:
            if d.role in ("grid", "loop") and not fixed & set(d.axes):
                split = split_of(part.graph, d.name)
                tile = tiles.get(part.where, {}).get(d.name, d.tile)
                if tile > 1 or split is not None or d.group:
                    cuts.append(_Cut(d.axes, tile, split.name if split else "", d.group > 0))
    return cuts


def _split_twice(cuts: list[_Cut], kind: Mapping[str, str]) -> frozenset[str]:
    """The classes of axes whose loops are split in more than one way."""
    seen: dict[str, set[str]] = {}
    for c in cuts:
        if c.split and len(c.axes) == 1:
            seen.setdefault(kind[c.axes[0]], set()).add(c.split)
    return frozenset(k for k, names in seen.items() if len(names) > 1)


def _small_tiles(part: PlacedBlock, fixed: frozenset[str], rng: random.Random) -> dict[str, int]:
    return {
        d.name: rng.choice(SMALL_TILES[d.role])
        for d in part.graph.dims
        if d.role in SMALL_TILES and d.tile > 1 and not fixed & set(d.axes)
    }


def _tiles(m: MuGraph, fixed: frozenset[str], kind: Mapping[str, str], rng: random.Random) -> Tiles:
    """Small tiles; the smallest for the loops of axes of which many tiles are needed."""
    tiles = {p.where: _small_tiles(p, fixed, rng) for p in parts(m) if p.role == "block"}
    for p in parts(m):
        if p.role == "tail":
            own = tiles[p.kernel.name]  # without dims of rigid axes
            tiles[p.where] = {d.name: own[d.name] for d in p.graph.grid if d.tile > 1 and d.name in own}
    several = _split_twice(_cuts(m, tiles, fixed), kind)
    for p in parts(m):
        for d in p.graph.dims:
            if d.role == "loop" and d.name in tiles.get(p.where, {}) and {kind[a] for a in d.axes} & several:
                tiles[p.where][d.name] = min(SMALL_TILES["loop"])
    return tiles


def _largest_tiles(cuts: Iterable[_Cut], kind: Mapping[str, str]) -> dict[str, int]:
    """The largest tile of each class of axes, of those that are tiled by themselves; 0 where there is none."""
    found = dict.fromkeys(kind.values(), 0)
    tiles = {c.axes[0]: c.tile for c in cuts if len(c.axes) == 1}
    for a, n in tiles.items():
        found[kind[a]] = max(found[kind[a]], n)
    return found


@dataclass(frozen=True)
class _Wanted:
    """What small sizes must do. `kind`: the class of each axis, whose sizes are one; `order`: the axes whose sizes are free, as
    they are drawn; `several`: classes whose loops are split in more than one way, `few` the axes of their parts; `tiled`:
    classes of which a dim has a tile or is read whole; `padded`: axes of parts that are read whole, where an odd number
    alone gives padding; `least`: the largest tile of each class; `whole`: classes that are read whole; `even`: those that may get
    an even size although tiled."""

    kind: Mapping[str, str]
    cuts: tuple[_Cut, ...]
    keep: Mapping[str, int]
    order: tuple[str, ...]
    several: frozenset[str]
    few: frozenset[str]
    tiled: frozenset[str]
    split: frozenset[str]
    padded: frozenset[str]
    least: Mapping[str, int]
    whole: frozenset[str]
    even: frozenset[str] = frozenset()

    @staticmethod
    def of(m: MuGraph, tiles: Tiles, fixed: frozenset[str], kind: Mapping[str, str]) -> _Wanted:
        cuts = tuple(_cuts(m, tiles, fixed))
        several = _split_twice([*cuts], kind)
        dims = [d for p in parts(m) for d in p.graph.dims]
        split = frozenset(d.name for d in dims if d.role == "split")
        whole = frozenset(a for d in dims if d.role == "resident" for a in d.axes)
        tiled = whole | {a for c in cuts for a in c.axes if c.tile > 1}
        least = _largest_tiles(cuts, kind)
        free = [a for a, _ in m.axes if a not in fixed]
        return _Wanted(
            kind, cuts, {a: n for a, n in m.axes if a in fixed},
            tuple(sorted(free, key=lambda a: (a not in split, -least[kind[a]]))), several,
            frozenset(c.split for c in cuts if c.split and {kind[a] for a in c.axes} & several),
            frozenset(kind[a] for a in tiled), split, split & whole, least, frozenset(map(kind.__getitem__, whole)),
        )  # fmt: skip

    def lighter(self) -> _Wanted:
        """The same with even sizes too for axes that are tiled only together with others: it is their product that must have a tail."""
        alone = {self.kind[c.axes[0]] for c in self.cuts if len(c.axes) == 1}
        return replace(self, even=frozenset(self.kind[a] for c in self.cuts for a in c.axes) - alone - self.whole)

    def draw(self, rng: random.Random, more: int) -> Sizes | None:
        """Sizes at random; None where they do not do. The larger `more`, the wider the choice."""
        sizes = dict(self.keep)
        for a in self.order:
            twin = next((b for b in sizes if self.kind[b] == self.kind[a]), None)
            if twin is not None:
                sizes[a] = sizes[twin]
                continue
            options = self.options(a, sizes, more)
            if not options:
                return None
            sizes[a] = rng.choice(options)
        return sizes if all(c.holds(sizes) for c in self.cuts) else None

    def smaller(self, sizes: Sizes, rng: random.Random, work: Callable[[Sizes], int]) -> Sizes:
        """Sizes with less work, made one axis after the other as small as those of the others let it be, until none can be. Axes whose
        parts must suit several splits stay."""
        free = sorted({self.kind[a] for a in self.order} - self.several - {self.kind[a] for a in self.few})
        rng.shuffle(free)
        changed = True
        while changed:
            changed = False
            for name in free:
                own = [a for a in sizes if self.kind[a] == name]
                rest = {a: n for a, n in sizes.items() if a not in own}
                for n in self.options(own[0], rest, len(sizes)):
                    new = {a: n if a in own else size for a, size in sizes.items()}
                    if work(new) < work(sizes) and all(c.holds(new) for c in self.cuts):
                        sizes, changed = new, True
                        break
        return sizes

    def options(self, a: str, sizes: Sizes, more: int) -> list[int]:
        """The sizes that an axis may get beside those that others have."""
        kind = self.kind[a]
        # an odd size is no multiple of any tile above one
        odd = kind in self.tiled - self.even and (a not in self.split or a in self.padded)
        low = 2 if not odd else 2 * self.least[kind] + 1 if self.least[kind] else 3
        high = low + (8 if odd else 1) + more
        if a in self.few:
            high = low + len(self.few) + more
        if kind in self.several:  # chance seldom meets several numbers of parts at once
            high = low + SEVERAL_SPLITS
        options = [n for n in range(low, high + 1) if (n % 2 or not odd) and n not in sizes.values()]
        if kind not in self.several:
            return options
        splits = [c for c in self.cuts if c.split and len(c.axes) == 1 and self.kind[c.axes[0]] == kind]
        return [n for n in options if all(c.holds({**sizes, c.axes[0]: n}) for c in splits)][: 2 + more]


def _volume(m: MuGraph, sizes: Mapping[str, int]) -> int:
    """The elements of the largest block's iteration space."""
    return max((_product(sizes, tuple(a for d in p.graph.dims for a in d.axes)) for p in parts(m)), default=0)


def tiny_sizes(m: MuGraph, seed: int = 0) -> tuple[Sizes, Tiles]:
    """Small sizes, pairwise distinct, and tiles for them: every tiled dim and loop has at least two tiles and a tail,
    every split an uneven last share. Axes of rigid dimensions keep their sizes (and the tiles of their dims). Where dims of several
    axes would make the launch large, sizes are made smaller. Deterministic for a seed; another seed gives other sizes.
    Raises InvalidMugraph if none is found."""
    rng = random.Random(seed)
    fixed, kind = rigid_axes(m), same_size(m)
    tiles = _tiles(m, fixed, kind, rng)
    wanted = _Wanted.of(m, tiles, fixed, kind)
    sizes = _drawn(wanted, rng)
    if sizes is None:
        raise InvalidMugraph(f"{m.name}: no small sizes with a tail for every tile, loop and split were found")
    if _volume(m, sizes) > SMALL:
        starts = (sizes, *(_drawn(wanted, rng) or sizes for _ in range(STARTS)))
        found = [wanted.lighter().smaller(x, rng, lambda x: _volume(m, x)) for x in starts]
        sizes = min(found, key=lambda x: _volume(m, x))
    return {a: sizes[a] for a, _ in m.axes}, {k: t for k, t in tiles.items() if not k.endswith(".tail")}


def _drawn(wanted: _Wanted, rng: random.Random) -> Sizes | None:
    for attempt in range(ATTEMPTS):
        sizes = wanted.draw(rng, attempt // 40)  # the harder it is, the wider the search; grids stay small
        if sizes is not None:
            return sizes
    return None


def whole_sizes(m: MuGraph, sizes: Mapping[str, int], tiles: Mapping[str, Mapping[str, int]]) -> Sizes | None:
    """`sizes` made larger until the tiles of `tiles` divide every dim that `m`'s own tiles divide; None if that changes
    nothing. There loops have no tail and masks are true, as in the launch that `m` stands for."""
    kind, fixed = same_size(m), rigid_axes(m)
    real = dict(m.axes)
    splits = {d.name for p in parts(m) for d in p.graph.dims if d.role == "split"}
    least: dict[str, int] = {}
    powers: set[str] = set()
    for p in parts(m):
        for d in p.graph.dims:
            if d.role == "split" or d.tile == 1 or _product(real, d.axes) % d.tile or set(d.axes) & (fixed | splits):
                continue
            if d.role == "resident":
                powers |= {kind[a] for a in d.axes}
            else:
                a = kind[d.axes[-1]]
                least[a] = max(least.get(a, 1), tiles.get(p.where, {}).get(d.name, 1))
    out: Sizes = {}
    for a, n in sizes.items():
        tile = least.get(kind[a], 1)
        out[a] = next_power(max(n, tile)) if kind[a] in powers else -(-n // tile) * tile
    return out if out != dict(sizes) else None


def like(m: MuGraph, sizes: Mapping[str, int]) -> MuGraph:
    """The µGraph at other sizes and the same tiles. A tile that holds a whole dim grows where it must, and never shrinks. Raises
    InvalidMugraph as `shrink` does."""
    whole = {p.where: {d.name: d.tile for d in p.graph.dims if d.role == "resident"} for p in parts(m)}
    return shrink(m, sizes, whole)


def sizes_for(m: MuGraph, shapes: Mapping[str, tuple[int, ...]]) -> Sizes | None:
    """The sizes of `m`'s axes at which its tensors have these shapes (by tensor); None where no sizes, or several, do: a dimension of
    several axes keeps all but one of them, and a rigid one its size. Axes of no tensor named keep theirs."""
    now, known = dict(m.axes), Sizes()
    later: list[tuple[tuple[str, ...], int]] = []
    for name, shape in shapes.items():
        t = m.tensor(name)
        if len(t.dims) != len(shape):
            return None
        for axes, rigid, n in zip(t.dims, t.rigid or (None,) * len(shape), shape, strict=True):
            if rigid is not None or len(axes) == 0:
                if n != (1 if rigid is None else rigid):
                    return None
            elif len(axes) > 1:
                later.append((axes, n))
            elif known.setdefault(axes[0], n) != n:
                return None
    for axes, n in later:
        if n == _product({**now, **known}, axes):
            continue
        free = [a for a in axes if a not in known]
        rest = _product({**now, **known}, tuple(a for a in axes if a not in free))
        if len(free) != 1 or n % rest:
            return None
        known[free[0]] = n // rest
    return {**now, **known}
