"""Custom kernels for one tensor (two if a reduction is split): every way to compute it, as µGraph pieces with their cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from mirage.ir.index import DimIndex
from mirage.ir.narrowing import FREE, Narrowing
from mirage.meaning.exp_shift import unbounded
from mirage.meaning.terms import Terms
from mirage.mugraph.block_facts import facts_of, tile_dims_of
from mirage.mugraph.decisions import LEAST_DOT
from mirage.mugraph.grammar import BlockGraph, CustomKernel, DTensor, LibraryKernel, Store, TileDim
from mirage.results.progress import CancelToken
from mirage.search.block_builder import BlockBuilder, CannotBuild, KernelOutput
from mirage.search.chained_loops import Before, chained, two_loops
from mirage.search.instantiate import arrange, blocks, group_choices, keeps, with_launch
from mirage.search.padding_values import PaddingStates
from mirage.search.reassociation import any_through
from mirage.search.reduction_moves import Moves
from mirage.search.reduction_systems import System, enumerate_systems, passes
from mirage.search.split_reduction import combine
from mirage.search.tile_dims import Layout, layout
from mirage.search.tile_sizes import power, split_options, tilings

MAIN = "main"  # the kernel of an only output
MANY_BLOCKS = 1024  # keep any device busy
ROW_PIECES = (1024, 4096)  # elements of a row that a block writes
ROW_WARPS = ((1024, 1), (2048, 2))  # up to so many elements of rows that are held whole: warps
MAX_TILE = 65536  # elements of one tile in registers (8 warps of 255 registers hold 65,280)
MAX_BLOCK = 131072  # elements of all accumulators and live tiles of a block, roughly


@dataclass(frozen=True)
class Target:
    """A tensor to compute: its name, term, dtype, and its dims (each the axes that make it up). Or, with `members`, several
    that one kernel computes (`multiple_outputs.py`): `term` is then the tuple of their terms, and `indices` says where each is
    written, along axes of the kernel."""

    tensor: str
    term: int
    dims: tuple[tuple[str, ...], ...]
    dtype: str
    kind: str = "output"
    members: tuple[Target, ...] = ()
    indices: tuple[tuple[DimIndex, ...], ...] = ()

    @property
    def index(self) -> tuple[DimIndex, ...]:
        return tuple(DimIndex(d) for d in self.dims)

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(a for d in self.dims for a in d)

    @property
    def written(self) -> tuple[tuple[DimIndex, ...], ...]:
        """The index of each tensor that the kernel writes."""
        return self.indices or (self.index,)

    @property
    def tensors(self) -> tuple[Target, ...]:
        """The tensors that the kernel writes, each as a target of its own."""
        return self.members or (self,)

    def writes(self, t: Terms, term: int) -> list[KernelOutput]:
        """The output savers of a kernel that computes `term`, an equal of the target's."""
        if not self.members:
            return [KernelOutput(self.tensor, term, self.index)]
        return [KernelOutput(m.tensor, x, i) for m, x, i in zip(self.members, t.kids(term), self.indices, strict=True)]


@dataclass(frozen=True)
class Piece:
    """Kernels that compute one target, the temporaries they need, and axes that they add (the parts of a split)."""

    kernels: tuple[CustomKernel | LibraryKernel, ...]
    temps: tuple[DTensor, ...]
    axes: tuple[tuple[str, int], ...]
    label: str
    structure: str


def held_elements(block: BlockGraph) -> tuple[int, int]:
    """Elements of the largest tile, and of all accumulators."""
    tiles, found = {d.name: d.tile for d in block.dims}, tile_dims_of(block.body)
    sizes = {dims: math.prod([tiles[d] for d in dims]) for dims in found.all}
    return max(sizes.values(), default=0), sum(map(sizes.__getitem__, found.accumulators))


def fits(block: BlockGraph) -> bool:
    """A quick bound on the register file; the compiler has the last word later."""
    largest, accumulated = held_elements(block)
    return largest <= MAX_TILE and accumulated <= MAX_BLOCK


def warps_for(block: BlockGraph) -> int:
    """Warps for a block's tiles. Short rows that it holds whole have few: a sum across warps waits for all of them, and goes through
    shared memory."""
    tiles, found = {d.name: d.tile for d in block.dims}, tile_dims_of(block.body)
    computed = (math.prod([tiles[d] for d in dims]) for dims in (*found.computed, *found.accumulators))
    if max(computed, default=1) > 8192:
        return 8
    items = facts_of(block.body).items
    if any(i.loop is not None or i.dots for i in items) or not any(i.reduced for i in items):
        return 4
    held, _ = held_elements(block)
    return next((warps for elements, warps in ROW_WARPS if held <= elements), 4)


@dataclass(frozen=True)
class Structure:
    """A reduction system with a choice of the streamed axis: a kernel without sizes. With `nested`, contractions go
    through the sums nested in them; with `before`, another loop comes first, whose sum the streamed one goes on from."""

    system: System
    streamed: str | None
    order: dict[int, int]
    layout: Layout
    nested: bool = False
    before: Before | None = None

    @property
    def key(self) -> str:
        more = f"{'/nested' if self.nested else ''}{f'/after {self.before.axis}' if self.before else ''}"
        return f"{sorted(self.system.reductions)}/{self.streamed}{more}"

    @property
    def loops(self) -> tuple[str, ...]:
        """The axes that are looped over, in the order of the loops."""
        first = (self.before.axis,) if self.before else ()
        return first + ((self.streamed,) if self.streamed else ())


@dataclass(frozen=True)
class _Split:
    """A reduction split over blocks: the kernel `name` whose block graph `first` writes the partial results along `dim`, `names`
    of their tensors with their axes, and `total`, the term that combines them. `columns`: axes of the output that are reduced over as
    well (a softmax is written along the axis that it sums over)."""

    name: str
    total: int
    dim: TileDim
    first: BlockGraph
    names: dict[int, tuple[str, tuple[str, ...]]]
    structure: str
    columns: tuple[str, ...] = ()

    @property
    def temps(self) -> tuple[DTensor, ...]:
        part = (self.dim.name,)
        return tuple(DTensor(n, "fp32", (part, *((a,) for a in axes)), kind="temp") for n, axes in self.names.values())

    @property
    def shared(self) -> bool:
        """Does one block write what others would write too? A tail may read only what its own group of blocks has written."""
        return any(s.first for s in self.first.body if isinstance(s, Store))


class KernelSpace:
    """The kernels that compute one target, within what `given` asks. `limit` bounds the number of reduction systems."""

    def __init__(
        self, t: Terms, target: Target, cancel: CancelToken, *, limit: int = 400, lean: bool = True,
        given: Narrowing = FREE,
    ) -> None:  # fmt: skip
        self.t, self.target, self.cancel, self.given = t, target, cancel, given
        self.moves = Moves(t, lean=lean, cancel=cancel)
        allowed = unbounded(t, self.moves.prints, target.term)
        prints = {self.moves.prints.of(x) for x in allowed}
        self.systems: list[System] = []
        self._seen: set[object] = set()
        self._blocked = False  # no tiles make the structure in hand a block graph
        self._blocks: dict[object, BlockGraph | None] = {}  # built once for all tilings of a shape
        self._totals: dict[object, int] = {}
        self.padding = PaddingStates(t)
        found, self.counts = enumerate_systems(self.moves, target.term, cancel, limit)
        for s in found:
            if s.cancelling:
                continue  # E[x^2] - E[x]^2: right in algebra, wrong in floats
            if all(self.moves.prints.of(x) in prints for x in self._exponentials(s)):
                self.systems.append(s)

    def _exponentials(self, s: System) -> set[int]:
        return unbounded(self.t, self.moves.prints, s.output)

    def structures(self) -> Iterator[Structure]:
        """Systems with a choice of the streamed axis."""
        t = self.t
        for s in self.systems:
            bound = sorted({t.reduction(r).axis for r in s.reductions})
            carried = {n.axis for n in map(t.reduction, s.reductions) if n.changes}
            if len(carried) > 1:
                continue
            lay = layout(t, s.output, self.target.axes, () if self.given else self.target.written)
            for streamed in [None, *bound]:
                if carried and streamed not in carried:
                    continue
                order = passes(t, s.reductions, streamed) if streamed else {}
                if order is not None:
                    yield Structure(s, streamed, order, lay)
                    if any_through(t, s.reductions):
                        yield Structure(s, streamed, order, lay, nested=True)
            for streamed, before in chained(t, s.output):
                yield Structure(s, streamed, before.after, lay, before=before)

    def pieces(
        self, name: str, structure: Structure, most: int, room: Callable[[Piece], bool] = lambda _: True
    ) -> Iterator[Piece]:
        """The structure's first `most` tilings that fit, by `room` too, with their splits; the caller ranks them."""
        made = 0
        for dims in tilings(structure.layout, self.t.sizes, structure.loops, self.given):
            self.cancel.check()
            found = filter(room, self._tiled(name, structure, dims, most > 1))
            first = next(found, None)
            if first is None:
                if self._blocked:
                    return
                continue
            yield first
            if most > 1:  # the first tiling alone only ranks structures
                yield from found
            made += 1
            if made >= most:
                return

    def _tiled(self, name: str, structure: Structure, dims: tuple[TileDim, ...], all_of_them: bool) -> Iterator[Piece]:
        """The kernels with these tiles: the whole one first, then its splits."""
        s = structure.system
        outputs = self.target.writes(self.t, s.output)
        self._blocked = False
        fit = False
        for arranged in arrange(self.given, dims, self.t.sizes):
            block = self.build(arranged, structure, outputs, s.reductions)
            if block is None:
                self._blocked = True  # no tiles make it a block graph
                return
            if not fits(block):
                return
            fit = True
            key = (block.body, arranged)
            if all_of_them:
                if key in self._seen:
                    continue
                self._seen.add(key)
            kernels = (CustomKernel(name, block, warps=warps_for(block)),)
            yield from self._within(Piece(kernels, (), (), self.label(dims, 1), structure.key))
        if structure.before is None and (fit or self.given):  # under a narrowing a split may be all that there is
            yield from self.split(name, structure, dims)

    def _within(self, piece: Piece) -> Iterator[Piece]:
        """The piece with the threads and clusters asked for, if its kernels keep to what is asked."""
        if not self.given:
            yield piece
            return
        sizes = {**self.t.sizes, **dict(piece.axes)}
        own = tuple(k for k in piece.kernels if isinstance(k, CustomKernel))
        for kernels in with_launch(self.given, own):
            if all(keeps(self.given, k, sizes) for k in kernels):
                yield replace(piece, kernels=kernels)

    def build(
        self, dims: tuple[TileDim, ...], structure: Structure | None, outputs: list[KernelOutput], reductions: frozenset[int],
    ) -> BlockGraph | None:  # fmt: skip
        """The block graph, None if there is none; without a structure, one without a loop. Its statements depend on the
        tiles only by what `shape` keeps of them: one element, few, or enough for a tensor core."""
        self.cancel.check()
        shape = tuple((d.name, d.role, min(d.tile, 2), d.tile >= LEAST_DOT) for d in dims)
        streamed, order, nested, before = None, dict[int, int](), False, None
        if structure is not None:
            streamed, order, nested, before = structure.streamed, structure.order, structure.nested, structure.before
        key = (shape, streamed, tuple((o.tensor, o.term) for o in outputs), reductions, nested, before and before.sum)
        if key not in self._blocks:
            try:
                if before is not None and streamed is not None:
                    self._blocks[key] = two_loops(self.padding, dims, streamed, before, outputs)
                else:
                    self._blocks[key] = BlockBuilder(self.padding, dims, streamed, order, nested).build(
                        outputs, reductions
                    )
            except CannotBuild:
                self._blocks[key] = None
        block = self._blocks[key]
        return None if block is None else BlockGraph(dims, block.body, block.cluster)

    def label(self, dims: tuple[TileDim, ...], parts: int) -> str:
        tiles = " ".join(f"{d.name}:{d.tile}{'*' if d.role == 'loop' else ''}" for d in dims if d.role != "split")
        return f"{tiles}{f' split {parts}' if parts > 1 else ''}"

    def split(self, name: str, structure: Structure, dims: tuple[TileDim, ...]) -> Iterator[Piece]:
        s, streamed, order, key = structure.system, structure.streamed, structure.order, structure.key
        t = self.t
        columns = self.columns(structure)
        if streamed is None or (columns and not self.few(dims)):
            return
        own = [r for r in sorted(s.reductions) if t.reduction(r).axis == streamed]
        if max(order[r] for r in own) != 1:
            return
        part = f"{streamed}_part" if name == MAIN else f"{streamed}_part_{self.target.tensor}"
        names = {r: (f"{self.target.tensor}_part{i}", self._axes(r)) for i, r in enumerate(own)}
        index = {r: (DimIndex((part,)), *(DimIndex((a,)) for a in axes)) for r, (_, axes) in names.items()}
        partial = [KernelOutput(names[r][0], r, index[r]) for r in own]
        for split_dim, arranged in self._in_parts(part, streamed, dims):
            first = self.build(arranged, structure, partial, s.reductions)
            if first is None:
                return
            if not fits(first):
                continue
            if key not in self._totals:
                self._totals[key] = combine(t, s.output, names, part)
            work = _Split(name, self._totals[key], split_dim, first, names, key, columns)
            for piece in self._finish(work, tuple(d for d in arranged if d.role != "split")):
                yield from self._within(piece)

    def _in_parts(
        self, part: str, streamed: str, dims: tuple[TileDim, ...]
    ) -> Iterator[tuple[TileDim, tuple[TileDim, ...]]]:
        """The tiles with the streamed axis split into each number of parts; `part` has that size meanwhile."""
        sizes = self.t.sizes
        for parts in split_options(sizes, dims, self.given):
            sizes[part] = parts
            split_dim = TileDim(part, (part,), 1, "split", streamed, parts)
            for arranged in arrange(self.given, (split_dim, *dims), sizes):
                yield split_dim, arranged

    def _axes(self, r: int) -> tuple[str, ...]:
        order = {a: i for i, a in enumerate(self.target.axes)}
        return tuple(sorted(self.t.dims(r), key=lambda a: (order.get(a, 99), a)))

    def _finish(self, work: _Split, dims: tuple[TileDim, ...]) -> Iterator[Piece]:
        """The second kernel over tiles of its own, or the last block to arrive over the same tiles."""
        outputs = self.target.writes(self.t, work.total)
        added = ((work.dim.name, work.dim.parts),)
        grid, resident = self._combined(work, dims)
        main = CustomKernel(work.name, work.first, warps=warps_for(work.first))
        for narrow in self._second(work, grid):
            tail = self.build((*narrow, *resident), None, outputs, frozenset())
            if tail is not None and fits(tail):
                kernels = (main, CustomKernel(f"{work.name}_combine", tail, warps=4))
                yield Piece(kernels, work.temps, added, self.label(dims, work.dim.parts), work.structure + "/kernel")
        if work.columns:  # the last block of a row would write all of it
            return
        same = self.build((*grid, *resident), None, outputs, frozenset())
        if same is not None and fits(same) and not work.shared:
            label = self.label(dims, work.dim.parts) + " last block"
            yield Piece((replace(main, tail=same),), work.temps, added, label, work.structure + "/tail")

    def columns(self, structure: Structure) -> tuple[str, ...]:
        """Where the output is written along the streamed axis: its axes that are reduced over as well."""
        if structure.streamed not in self.target.axes:
            return ()
        return tuple(a for a in self.target.axes if a in structure.layout.inner)

    def few(self, dims: tuple[TileDim, ...]) -> bool:
        """Whether so few blocks have a row that its parts are worth reading it again in another kernel."""
        return not self.given and math.prod(blocks(d, self.t.sizes) for d in dims if d.role == "grid") < MANY_BLOCKS

    def _second(self, work: _Split, grid: tuple[TileDim, ...]) -> Iterator[tuple[TileDim, ...]]:
        """The grid dims of the second kernel. Where it writes rows that were reduced in parts, it takes them in pieces: of one row."""
        if not work.columns:
            yield from group_choices(self.given, grid, self.t.sizes)
            return
        n = math.prod(self.t.sizes[a] for a in work.columns)
        for tile in dict.fromkeys(min(x, power(n)) for x in ROW_PIECES):
            along = TileDim("_".join(work.columns), work.columns, tile, "resident" if tile >= n > 1 else "grid")
            yield *(replace(d, tile=1, role="grid") for d in grid), along

    def _combined(self, work: _Split, dims: tuple[TileDim, ...]) -> tuple[tuple[TileDim, ...], tuple[TileDim, ...]]:
        """The dims of what combines the partial results: those of its grid, and those that a block holds whole."""
        t, part = self.t, work.dim
        bound = {t.reduction(r).axis for r in t.closure(work.total)}
        dims = tuple(d for d in dims if not set(work.columns) & set(d.axes))
        inner = tuple(
            replace(d, role="resident", tile=max(d.tile, power(t.sizes[d.axes[0]])))
            for d in dims if d.role in ("loop", "resident") and bound & set(d.axes)
        )  # fmt: skip
        kept = (d for d in dims if d not in inner and d.role != "loop" and not bound & set(d.axes))
        grid = tuple(d for d in kept if any(a in self.target.axes for a in d.axes))
        return grid, (TileDim(part.name, part.axes, power(part.parts), "resident"), *inner)
