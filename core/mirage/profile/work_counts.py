"""Counts of the work of a block graph's launch, from the µGraph: bytes, flops, and the steps of one block's longest path.

Counts only, no times: `roofline.py` makes µs of them with a device's rates and costs. It is called for every candidate of
a search, so it walks a graph once and remembers nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mirage.ir.dtypes import DTYPES
from mirage.mugraph.decisions import GROUP_ROWS, Product, decide
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    DTensor,
    Load,
    Loop,
    Statement,
    Store,
    ThreadGraph,
)
from mirage.operators.table import BLOCK

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
    flops: float = 0.0
    special: float = 0.0
    path: Path = field(default_factory=Path)
    flight: float = 0.0
    shared: float = 0.0
    registers: float = 0.0  # 32-bit registers of a block: accumulators, operand fragments, addresses of copies
    copies: float = 0.0  # those of one warp, which every warp of the block holds
    reads: dict[str, float] = field(default_factory=dict)  # bytes requested of each tensor
    touched: dict[str, float] = field(default_factory=dict)  # bytes of each tensor that are read at least once


def _computes(s: Statement) -> tuple[Compute, ...]:
    return s.body if isinstance(s, ThreadGraph) else (s,) if isinstance(s, Compute) else ()


def _dots(loop: Loop) -> list[Compute]:
    return [c for s in loop.body for c in _computes(s) if c.op == "dot"]


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
        self.loaded: set[str] = set()
        self.made: dict[str, int] = {}  # elements of each computed tile
        self.dotted = False  # whether the loop at hand has a dot
        self.looped = False
        self.grouped = False  # and one on a warp group's instruction
        self.held: frozenset[str] = (
            frozenset()
        )  # contracted dims whose tiles every warp holds, as fragments of its own products
        self.summed: frozenset[str] = frozenset()  # what the loop at hand adds to its accumulators

    def measure(self) -> WorkCounts:
        w = self.w
        for d in self.graph.dims:
            if d.role == "grid":
                w.blocks *= self.tiles[d.name]
            elif d.role == "split":
                w.blocks *= d.parts
        straight = False
        for position, item in enumerate(self.graph.body):
            if isinstance(item, Loop):
                self.loop(position, item)
            else:
                straight |= isinstance(item, Load)
                self.statement(item, 1.0, "")
        w.path.waits += straight
        w.unique, w.touched, w.wasted = sum(self.seen.values()), self.seen, sum(self.wasted.values())
        return w

    def parts(self, dim: str) -> int:
        return math.prod(d.parts for d in self.graph.dims if d.role == "split" and d.splits == dim)

    def loop(self, position: int, loop: Loop) -> None:
        w = self.w
        count = math.ceil(self.tiles[loop.dim] / self.parts(loop.dim))
        flight = 0.0
        before = w.shared
        self.where = position
        products = [p for c in _dots(loop) if (p := self.decisions.product(position, c))]
        self.dotted = bool(products)
        self.held = frozenset(p.k for p in products) if not any(map(self.wide_enough, products)) else frozenset()
        self.looped, self.grouped = True, False
        self.summed = frozenset(d.summand for d in self.decisions.deferred.get(position, ()))
        for s in loop.body:
            self.statement(s, float(count), loop.dim)
            if isinstance(s, Load):
                size = self.tile_bytes(s)
                flight += size
                w.registers += size / 8  # a 64-bit address for each 16 bytes copied
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

    def statement(self, s: Statement, times: float, loop: str) -> None:
        """Counts a statement that each block runs `times` times."""
        w = self.w
        if isinstance(s, Load):
            self.load(s, loop)
        elif isinstance(s, Store):
            axes = [a for d in s.index for a in d.axes]
            w.written += math.prod(self.sizes[a] for a in axes) * DTYPES[self.tensors[s.tensor].dtype].bytes
        elif isinstance(s, Accumulate):
            n = self.elements(s.dims)
            w.registers += n
            if s.update:
                w.flops += 2.0 * n * times * w.blocks * (len(s.update) + 1)
                w.path.math += n * times
        else:
            for c in _computes(s):
                self.compute(c, times)

    def load(self, s: Load, loop: str) -> None:
        size = DTYPES[self.tensors[s.tensor].dtype].bytes
        own = {self.dim_of[a] for d in s.index for a in d.axes}
        unique = float(size * math.prod(self.sizes[a] for d in s.index for a in d.axes))
        again = 1.0
        for d in self.graph.dims:
            if d.role == "grid" and d.name not in own:
                again *= self.tiles[d.name]
            elif d.role == "split" and d.name not in own and d.splits not in own:
                again *= d.parts
        last = {self.dim_of[a] for a in s.index[-1].axes} if s.index else set()
        piece = size * math.prod(min(self.dims[d].tile, self.extent.get(d, 1)) for d in last)
        if last:  # short pieces of a row: whole sectors travel, from memory two at a time
            again *= max(1.0, SECTOR / piece)
            self.wasted[s.tensor] = max(self.wasted.get(s.tensor, 0.0), unique * max(0.0, BURST / piece - 1.0))
        self.w.requested += unique * again
        self.w.reads[s.tensor] = self.w.reads.get(s.tensor, 0.0) + unique * again
        self.seen[s.tensor] = max(self.seen.get(s.tensor, 0.0), unique)
        self.loaded.add(s.out)
        if not loop:
            self.w.flight = max(self.w.flight, self.tile_bytes(s))
            self.w.registers += self.elements(s.dims)

    def compute(self, c: Compute, times: float) -> None:
        w = self.w
        entry = BLOCK.get(c.op)
        self.made[c.out] = self.elements(c.dims)
        if entry is not None and not entry.flops and not entry.special:
            return
        if c.op == "dot":
            self.dot(c, times)
            return
        n = self.elements(c.dims)
        if c.op in ("sum", "max"):
            n *= self.dims[c.attr("dim")].tile
            w.flops += float(n) * times * w.blocks
            n *= self.warps if c.attr("dim") in self.held else 1
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
            return
        w.flops += (entry.flops if entry else 1.0) * n * times * w.blocks
        w.special += (entry.special if entry else 0.0) * n * times * w.blocks
        w.path.math += n * times * (self.warps if self.held & set(c.dims) else 1)

    def wide_enough(self, p: Product) -> bool:
        """For a warp group's instruction, once the layout pass has put the larger side first; else each warp holds the fragments
        of both operands."""
        return max(self.dims[p.m].tile, self.dims[p.n].tile) >= GROUP_ROWS

    def dot(self, c: Compute, times: float) -> None:
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
            w.path.depth += k / 16 * times * max(1.0, rows * columns / (GROUP_ROWS * 64))
        w.path.operands += times * sum(self.made.get(a, 0) for a in c.args if a not in self.loaded)
