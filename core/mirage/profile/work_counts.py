"""Counts of the work of a block graph's launch, from the µGraph: bytes, flops, and the steps of one block's longest path.

Counts only, no times: `roofline.py` makes µs of them with a device's rates and costs. It is called for every candidate of
a search, so what does not depend on the tiles is found once for each body.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mirage.ir.dtypes import DTYPES
from mirage.mugraph.block_facts import REDUCTIONS, Body, Dims, OfBody
from mirage.mugraph.decisions import GROUP_ROWS, Product, decide
from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, DTensor, Load, Loop, Statement, Store
from mirage.mugraph.walk import computes
from mirage.operators.table import BLOCK

WIDE = 16384  # sums of a product's tile
SECTOR, BURST = 32, 64  # bytes: the least that travels between L2 and a multiprocessor, between memory and L2


@dataclass
class Path:
    """The steps of one block's longest path, over all iterations of its loops. Elements are those of a block; its threads
    share them."""

    iterations: float = 0.0
    waits: float = 0.0  # for device memory: iterations whose loads are not prefetched, and loads outside loops
    dots: float = 0.0  # matrix instructions in a row: products, however large
    depth: float = 0.0  # of these products: steps of 16 along the contracted dim, on a warp group's instruction
    fragments: float = 0.0  # the same on a warp's own instruction
    operands: float = 0.0  # elements of computed operands that go through shared memory
    reductions: float = 0.0  # within a warp
    crossings: float = 0.0  # across the warps of a block
    reduced: float = 0.0  # elements that are reduced in loops
    math: float = 0.0  # elements of pointwise operators


@dataclass
class WorkCounts:
    """What one launch does, over all its blocks. Bytes are device-memory bytes touched (`unique`) and bytes requested
    (`requested`); `path` one block's longest path; `flight` bytes that one block keeps in flight."""

    blocks: int = 1
    unique: float = 0.0
    requested: float = 0.0
    written: float = 0.0
    wasted: float = 0.0  # bytes that travel from memory beside short pieces
    tensor_flops: float = 0.0
    narrow_flops: float = 0.0  # of these, on a warp's own instruction
    wide_flops: float = 0.0  # of these, of tiles so large that one product keeps the tensor cores at work
    flops: float = 0.0
    special: float = 0.0
    path: Path = field(default_factory=Path)
    flight: float = 0.0
    shared: float = 0.0
    registers: float = 0.0  # 32-bit registers of a block: accumulators, operand fragments, addresses of copies
    copies: float = 0.0  # those of one warp, which every warp of the block holds
    reads: dict[str, float] = field(default_factory=dict)  # bytes requested of each tensor
    touched: dict[str, float] = field(default_factory=dict)  # bytes of each tensor that are read at least once
    grid: tuple[tuple[str, int], ...] = ()  # the blocks along each grid dim, in order
    split: bool = False  # whether one of them is a part of a loop
    along: dict[str, frozenset[str]] = field(
        default_factory=dict
    )  # the grid dims on which what is read of each tensor depends


@dataclass(frozen=True, slots=True)
class _Pointwise:
    """The pointwise operators of an item whose results have the same dims: how many, and what they take for each element."""

    dims: Dims
    count: int
    flops: float
    special: float


@dataclass(frozen=True, slots=True)
class _Item:
    """A loop over `dim`, at its position in the body, or a statement outside of loops: its statements by what counts them. Each
    dot stands beside the dims of its computed operands."""

    position: int | None
    dim: str
    loads: tuple[Load, ...]
    stores: tuple[Store, ...]
    accumulators: tuple[Accumulate, ...]
    reductions: tuple[Compute, ...]
    dots: tuple[tuple[Compute, tuple[Dims, ...]], ...]
    pointwise: tuple[_Pointwise, ...]


def _items(body: Body) -> tuple[_Item, ...]:
    made: dict[str, Dims] = {}
    return tuple(_item(i, x, made) for i, x in enumerate(body))


def _item(position: int, item: Statement | Loop, made: dict[str, Dims]) -> _Item:
    """`made`: the dims of each tile that was computed before, and those of this item."""
    body = item.body if isinstance(item, Loop) else (item,)
    dots: list[tuple[Compute, tuple[Dims, ...]]] = []
    reductions: list[Compute] = []
    pointwise: dict[Dims, _Pointwise] = {}
    for s in body:
        if isinstance(s, Load):
            made.pop(s.out, None)
        for c in computes(s):
            entry = BLOCK.get(c.op)
            flops, special = (entry.flops, entry.special) if entry is not None else (1, 0)
            made[c.out] = c.dims
            if c.op == "dot":
                dots.append((c, tuple(made[a] for a in c.args if a in made)))
            elif c.op in REDUCTIONS:
                reductions.append(c)
            elif flops or special:
                same = pointwise.get(c.dims, _Pointwise(c.dims, 0, 0, 0))
                pointwise[c.dims] = _Pointwise(c.dims, same.count + 1, same.flops + flops, same.special + special)
    return _Item(
        position if isinstance(item, Loop) else None, item.dim if isinstance(item, Loop) else "",
        tuple(s for s in body if isinstance(s, Load)), tuple(s for s in body if isinstance(s, Store)),
        tuple(s for s in body if isinstance(s, Accumulate)), tuple(reductions), tuple(dots), tuple(pointwise.values()),
    )  # fmt: skip


_items_of: OfBody[tuple[_Item, ...]] = OfBody(_items)


def work(
    graph: BlockGraph, sizes: dict[str, int], tensors: dict[str, DTensor], stages: int, warps: int = 4
) -> WorkCounts:
    """What a block graph's launch does at these sizes."""
    return _Meter(graph, sizes, tensors, stages, warps).measure()


class _Meter:
    def __init__(
        self, graph: BlockGraph, sizes: dict[str, int], tensors: dict[str, DTensor], stages: int, warps: int
    ) -> None:
        self.graph, self.sizes, self.tensors, self.stages, self.warps = graph, sizes, tensors, stages, warps
        self.decisions = decide(graph, warps)
        self.where: int | None = None  # the loop at hand
        self.dims = {d.name: d for d in graph.dims}
        self.extent = {d.name: math.prod(sizes[a] for a in d.axes) for d in graph.dims if d.role != "split"}
        self.tiles = {d.name: math.ceil(self.extent[d.name] / d.tile) for d in graph.dims if d.role != "split"}
        self.dim_of = {a: d.name for d in graph.dims for a in d.axes}
        self.w = WorkCounts()
        self.seen: dict[str, float] = {}
        self.wasted: dict[str, float] = {}
        self.dotted = False  # whether the loop at hand has a dot
        self.looped = False
        self.grouped = False  # and one on a warp group's instruction
        self.held: frozenset[str] = (
            frozenset()
        )  # contracted dims whose tiles every warp holds, as fragments of its own products
        self.summed: frozenset[str] = frozenset()  # what the loop at hand adds to its accumulators

    def measure(self) -> WorkCounts:
        w = self.w
        w.grid = tuple((d.name, self.tiles[d.name] if d.role == "grid" else d.parts) for d in self.graph.grid)
        w.blocks = math.prod(count for _, count in w.grid)
        w.split = any(d.role == "split" for d in self.graph.grid)
        straight = False
        for item in _items_of(self.graph.body):
            if item.dim:
                self.loop(item)
            else:
                straight |= bool(item.loads)
                self.item(item, 1.0)
        w.path.waits += straight
        w.unique, w.touched, w.wasted = sum(self.seen.values()), self.seen, sum(self.wasted.values())
        return w

    def parts(self, dim: str) -> int:
        return math.prod(d.parts for d in self.graph.dims if d.role == "split" and d.splits == dim)

    def loop(self, loop: _Item) -> None:
        w = self.w
        count = math.ceil(self.tiles[loop.dim] / self.parts(loop.dim))
        before = w.shared
        self.where = loop.position
        products = [p for c, _ in loop.dots if (p := self.decisions.product(loop.position, c))]
        self.dotted = bool(products)
        self.held = frozenset(p.k for p in products) if not any(map(self.wide_enough, products)) else frozenset()
        self.looped, self.grouped = True, False
        deferred = self.decisions.deferred.get(loop.position, ()) if loop.position is not None else ()
        self.summed = frozenset(d.summand for d in deferred)
        self.item(loop, float(count))
        flight = sum(map(self.tile_bytes, loop.loads), 0.0)
        w.registers += flight / 8  # a 64-bit address for each 16 bytes copied
        # A warp group's product still reads its buffer while the next one is filled.
        buffers = max(1, min(self.stages - (not self.grouped), count + 1))
        w.shared = before + flight * buffers
        w.flight = max(w.flight, flight * max(1, min(self.stages - 1, count)))
        w.path.iterations += count
        if flight and self.stages < 2:
            w.path.waits += count
        self.dotted = self.looped = False
        self.summed = self.held = frozenset()
        self.where = None

    def elements(self, dims: tuple[str, ...]) -> int:
        n = 1
        for d in dims:
            n *= self.dims[d].tile
        return n

    def tile_bytes(self, s: Load) -> float:
        return float(self.elements(s.dims) * DTYPES[self.tensors[s.tensor].dtype].bytes)

    def item(self, item: _Item, times: float) -> None:
        """Counts a loop's body or a statement outside of loops, which each block runs `times` times."""
        w = self.w
        for load in item.loads:
            self.load(load, item.dim)
        for store in item.stores:
            axes = [a for d in store.index for a in d.axes]
            w.written += math.prod(self.sizes[a] for a in axes) * DTYPES[self.tensors[store.tensor].dtype].bytes
        for s in item.accumulators:
            n = self.elements(s.dims)
            w.registers += n
            if s.update:
                w.flops += 2.0 * n * times * w.blocks * (len(s.update) + 1)
                w.path.math += n * times
        for p in item.pointwise:
            total = self.elements(p.dims) * times
            w.flops += p.flops * total * w.blocks
            w.special += p.special * total * w.blocks
            w.path.math += p.count * total * (1 if self.held.isdisjoint(p.dims) else self.warps)
        for c in item.reductions:
            self.reduction(c, times)
        for c, operands in item.dots:
            self.dot(c, operands, times)

    def load(self, s: Load, loop: str) -> None:
        size = DTYPES[self.tensors[s.tensor].dtype].bytes
        own = {self.dim_of[a] for d in s.index for a in d.axes}
        unique = float(size * math.prod(self.sizes[a] for d in s.index for a in d.axes))
        again, along = 1.0, []
        for d in self.graph.grid:
            if d.name in own or d.splits in own:
                along.append(d.name)
            else:
                again *= self.tiles[d.name] if d.role == "grid" else d.parts
        self.w.along[s.tensor] = self.w.along.get(s.tensor, frozenset()).union(along)
        last = {self.dim_of[a] for a in s.index[-1].axes} if s.index else set()
        piece = size * math.prod(min(self.dims[d].tile, self.extent.get(d, 1)) for d in last)
        if last:  # short pieces of a row: whole sectors travel, from memory two at a time
            again *= max(1.0, SECTOR / piece)
            self.wasted[s.tensor] = max(self.wasted.get(s.tensor, 0.0), unique * max(0.0, BURST / piece - 1.0))
        self.w.requested += unique * again
        self.w.reads[s.tensor] = self.w.reads.get(s.tensor, 0.0) + unique * again
        self.seen[s.tensor] = max(self.seen.get(s.tensor, 0.0), unique)
        if not loop:
            self.w.flight = max(self.w.flight, self.tile_bytes(s))
            self.w.registers += self.elements(s.dims)

    def reduction(self, c: Compute, times: float) -> None:
        w, over = self.w, c.attr("dim")
        n = self.elements(c.dims) * self.dims[over].tile
        w.flops += float(n) * times * w.blocks
        n *= self.warps if over in self.held else 1
        if self.looped and not self.dotted and c.out in self.summed:  # added up whole, reduced once after the loop
            w.registers += n
            w.path.math += n * times
            w.path.crossings += 1
            return
        w.path.reduced += n * times
        # Beside a dot each warp holds 16 rows; with more warps than that a row is shared by several.
        if self.looped and (not self.dotted or self.elements(c.dims) < 16 * self.warps):
            w.path.crossings += times
        else:
            w.path.reductions += times

    def wide_enough(self, p: Product) -> bool:
        """For a warp group's instruction, once the layout pass has put the larger side first; else each warp holds the fragments
        of both operands."""
        return max(self.dims[p.m].tile, self.dims[p.n].tile) >= GROUP_ROWS

    def dot(self, c: Compute, operands: tuple[Dims, ...], times: float) -> None:
        w = self.w
        k = self.dims[c.attr("dim")].tile
        product = self.decisions.product(self.where, c)
        flops = 2.0 * self.elements(c.dims) * k * times * w.blocks
        if product is None:
            n = self.elements(c.dims) * k
            w.flops += flops
            w.path.math += n * times
            if c.out in self.summed:
                w.registers += n
                w.path.crossings += 1
            else:
                w.path.reduced += n * times
                w.path.crossings += times
            return
        w.tensor_flops += flops
        w.path.dots += times
        rows, columns = self.dims[product.m].tile, self.dims[product.n].tile
        if not self.wide_enough(product):
            w.narrow_flops += flops
            w.registers += k * columns / 2
            w.copies += k * rows / 2
            w.path.fragments += k / 16 * times
        else:
            self.grouped = True
            w.wide_flops += flops * (rows * columns >= WIDE)
            w.path.depth += k / 16 * times * max(1.0, rows * columns / (GROUP_ROWS * 64))
        w.path.operands += times * sum(map(self.elements, operands))
