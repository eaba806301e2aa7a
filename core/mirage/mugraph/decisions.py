"""Decisions about a block on a device: the unit that does each product, and the sums that are reduced only after their loop.

Decided here and nowhere else: the validity rules and the memory plan count shared memory by it, the estimate counts work by it,
the search knows from it which tiles make a product, and the emitter writes what it says. What the compiler does with the text
is measured (tests/plan/test_decisions.py): a product of one matrix by another, or of a batch of them, whose three extents are
at least 16 runs on tensor cores. With four or more warps, 64 or more rows and no batch a device that has warp-group
instructions (sm_90, sm_100) uses them; they read both operands from shared memory while the next ones are loaded. Products of
float32 are written alike, and their threads multiply: tensor cores would round the operands.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mirage.mugraph import old_value
from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, Load, Loop, Statement, Store
from mirage.mugraph.walk import computes

LEAST_DOT = 16  # the least extent of a matrix instruction's operand
GROUP_WARPS, GROUP_ROWS = 4, 64  # warps of a warp group, and the rows of its matrix instruction
DEFERRED = 64  # registers of a thread for tiles that are added up whole and reduced after their loop
REDUCTIONS = ("sum", "max")
REMEMBERED = 4096  # bodies whose structure is known

Unit = Literal["warp group", "warp"]
Place = tuple[int | None, str]  # the position of a loop in the block's body (None: outside of loops), and a name there
Body = tuple[Statement | Loop, ...]


def matrix_sides(m: Sequence[int], n: Sequence[int], k: int) -> bool:
    """Whether a product is one of matrices large enough for tensor cores, by the tiles of the dims that each side has alone."""
    return len(m) == len(n) == 1 and min(m[0], n[0], k) >= LEAST_DOT


@dataclass(frozen=True)
class Product:
    """A dot that is written as one: (`batch`, M, K) by (`batch`, K, N). `swapped`: its second argument is the left operand;
    `fused`: it adds to its accumulator in place."""

    batch: tuple[str, ...]
    m: str
    n: str
    k: str
    swapped: bool
    fused: bool
    unit: Unit


@dataclass(frozen=True)
class Deferred:
    """A sum whose contributions are added up element by element, as a tile of the dims `wide`, and reduced after the loop."""

    accumulator: str
    summand: str  # the reduction that is not made in the loop
    wide: tuple[str, ...]


@dataclass(frozen=True)
class Decisions:
    """Of one block graph: its products by place, the others being sums of products, and the deferred sums of each loop."""

    products: dict[Place, Product]
    deferred: dict[int, tuple[Deferred, ...]]

    def product(self, where: int | None, c: Compute) -> Product | None:
        """The decision on a dot; None where it is a sum of products (or no dot)."""
        return self.products.get((where, c.out)) if c.op == "dot" else None

    def has_product(self, where: int) -> bool:
        """Whether a loop has a product on tensor cores."""
        return any(place[0] == where for place in self.products)

    def has_group(self, where: int | None, statements: Sequence[Statement]) -> bool:
        """Whether a warp group makes a product of the statements, which stand in that loop or outside of loops."""
        found = (self.product(where, c) for s in statements for c in computes(s))
        return any(p is not None and p.unit == "warp group" for p in found)


NONE = Decisions({}, {})


@dataclass(frozen=True)
class _Dot:
    """What is known of a dot whatever the tiles; `dims` are those of its result, in the accumulator's order where it may be
    fused."""

    place: Place
    left: tuple[str, ...]
    right: tuple[str, ...]
    dims: tuple[str, ...]
    k: str
    fused: bool


@dataclass(frozen=True)
class _Sum:
    """A sum that may be deferred whatever the tiles."""

    loop: int
    accumulator: str
    summand: str
    args: frozenset[str]  # the dims of what it adds up
    over: str


@dataclass(frozen=True)
class BlockFacts:
    """What is known of a block's body whatever its tiles: dots and sums, and the dims of the tiles that may go through shared
    memory: of each load with its tensor, of each computed tile that a dot reads, of each reduction's result."""

    dots: tuple[_Dot, ...]
    sums: tuple[_Sum, ...]
    loads: tuple[tuple[str, tuple[str, ...]], ...]
    operands: tuple[tuple[str, ...], ...]
    reduced: tuple[tuple[str, ...], ...]


# By identity: a search gives one body many tiles, and hashing it takes longer.
_known: dict[int, tuple[Body, BlockFacts]] = {}


def structure_of(body: Body) -> BlockFacts:
    """The structure of a body; of the same object it is found once."""
    have = _known.get(id(body))
    if have is not None and have[0] is body:
        return have[1]
    if len(_known) >= REMEMBERED:
        _known.clear()
    found = _Reader(body).read()
    _known[id(body)] = body, found  # holding the body keeps its identity its own
    return found


def _statements(body: Body) -> Iterator[tuple[int | None, Statement]]:
    for i, item in enumerate(body):
        if isinstance(item, Loop):
            for s in item.body:
                yield i, s
        else:
            yield None, item


def _reads(s: Statement) -> tuple[str, ...]:
    """Every reading of a tile, the accumulator's own old value too."""
    if isinstance(s, Accumulate):
        carried = (x for c, a in s.update for x in (c, a or s.out))
        return (s.arg, *carried, *((s.start,) if s.start else ()))
    if isinstance(s, Store):
        return (s.tile,)
    return tuple(a for c in computes(s) for a in c.args)


class _Reader:
    """Reads a body: what each tile's dims are, how often each is read. A name may be bound again in another loop; a read finds
    the binding of its own loop first."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.dims: dict[Place, tuple[str, ...]] = {}
        for where, s in _statements(body):
            if isinstance(s, Accumulate):
                self.dims[None, s.out] = s.dims
            elif isinstance(s, Load):
                self.dims[where, s.out] = s.dims
            else:
                self.dims.update({(where, c.out): c.dims for c in computes(s)})
        self.count = Counter(self.key(where, name) for where, s in _statements(body) for name in _reads(s))

    def key(self, where: int | None, name: str) -> Place:
        bare = old_value.bare(name)
        return (where, bare) if (where, bare) in self.dims else (None, bare)

    def of(self, where: int | None, name: str) -> tuple[str, ...]:
        return self.dims.get(self.key(where, name), ())

    def read(self) -> BlockFacts:
        made = [(where, c) for where, s in _statements(self.body) for c in computes(s)]
        dots = [self.dot(where, c) for where, c in made if c.op == "dot"]
        loads = {(where, s.out): s for where, s in _statements(self.body) if isinstance(s, Load)}
        args = {self.key(where, a) for where, c in made if c.op == "dot" for a in c.args} - set(loads)
        return BlockFacts(
            tuple(dots), tuple(self.sums()), tuple((s.tensor, s.dims) for s in loads.values()),
            tuple(self.dims[a] for a in args if a in self.dims), tuple(c.dims for _, c in made if c.op in REDUCTIONS),
        )  # fmt: skip

    def dot(self, where: int | None, c: Compute) -> _Dot:
        left, right = (self.of(where, a) for a in c.args)
        into = self.accumulator(where, c)
        dims = c.dims if into is None else into.dims
        return _Dot((where, c.out), left, right, dims, c.attr("dim"), into is not None)

    def accumulator(self, where: int | None, c: Compute) -> Accumulate | None:
        """The sum accumulator that a dot can be added to in place: nothing else reads the dot, nor does the dot read an accumulator
        that runs, nor does the accumulator change but by a factor of its own."""
        loop = self.body[where] if where is not None else None
        if not isinstance(loop, Loop) or self.count[self.key(where, c.out)] != 1:
            return None
        readers = [s for s in loop.body if isinstance(s, Accumulate) and s.arg == c.out]
        running = {s.out for s in loop.body if isinstance(s, Accumulate)}
        if len(readers) != 1 or readers[0].op != "sum" or set(readers[0].dims) != set(c.dims):
            return None
        own = all(a in ("", readers[0].out) for _, a in readers[0].update)
        return readers[0] if own and not running & {old_value.bare(a) for a in c.args} else None

    def sums(self) -> Iterator[_Sum]:
        """Plain sums and contractions over their loop's dim, read by one accumulator that nothing reads before the loop ends: a
        reduction in each iteration would cost a barrier."""
        for i, loop in enumerate(self.body):
            if not isinstance(loop, Loop):
                continue
            made = {c.out: c for s in loop.body for c in computes(s)}
            read = {old_value.bare(a) for c in made.values() for a in c.args}
            for s in loop.body:
                if not isinstance(s, Accumulate) or s.update or s.start or s.op != "sum" or s.out in read:
                    continue
                c = made.get(s.arg)
                if c is None or c.op not in ("sum", "dot") or c.attr("dim") != loop.dim:
                    continue
                if self.count[self.key(i, s.arg)] == 1:
                    args = frozenset(d for a in c.args for d in self.of(i, a))
                    yield _Sum(i, s.out, s.arg, args, loop.dim)


def decide(graph: BlockGraph, warps: int, groups: bool = True) -> Decisions:
    """The decisions for a block of so many warps on a device that has warp-group instructions, or has not."""
    structure = structure_of(graph.body)
    if not structure.dots and not structure.sums:
        return NONE
    tiles = {d.name: d.tile for d in graph.dims}
    products = {d.place: p for d in structure.dots if (p := _product(d, tiles, groups and warps >= GROUP_WARPS))}
    return Decisions(products, _deferred(structure, products, graph, tiles, warps))


def _product(dot: _Dot, tiles: dict[str, int], groups: bool) -> Product | None:
    k = dot.k
    if k not in dot.left or k not in dot.right or tiles[k] < LEAST_DOT:
        return None
    wide = {d for d, tile in tiles.items() if tile > 1} - {k}
    a, b = wide.intersection(dot.left), wide.intersection(dot.right)
    result = [d for d in dot.dims if d in wide or d == k]
    batch = tuple(d for d in result if d in a & b)
    m, n = list(a.difference(batch)), list(b.difference(batch))
    if len(batch) > 1 or not matrix_sides([tiles[d] for d in m], [tiles[d] for d in n], tiles[k]):
        return None
    if sorted(result) != sorted([*batch, *m, *n]):
        return None
    swapped = result.index(m[0]) > result.index(n[0])
    first, second = (n[0], m[0]) if swapped else (m[0], n[0])
    group = groups and not batch and tiles[first] >= GROUP_ROWS
    return Product(batch, first, second, k, swapped, dot.fused, "warp group" if group else "warp")


def _deferred(
    structure: BlockFacts, products: dict[Place, Product], graph: BlockGraph, tiles: dict[str, int], warps: int
) -> dict[int, tuple[Deferred, ...]]:
    """The smallest tiles of each loop, while the threads have room for them; the largest are reduced in the loop."""
    found: dict[int, list[tuple[int, Deferred]]] = {}
    for s in structure.sums:
        if (s.loop, s.summand) in products or tiles[s.over] < 2 or s.over not in s.args:
            continue
        wide = tuple(d.name for d in graph.dims if d.name in s.args and d.tile > 1)
        size = math.prod(tiles[d] for d in wide)
        found.setdefault(s.loop, []).append((size, Deferred(s.accumulator, s.summand, wide)))
    out: dict[int, tuple[Deferred, ...]] = {}
    for loop, some in found.items():
        room, taken = DEFERRED * 32 * warps, []
        for size, one in sorted(some, key=lambda x: (x[0], x[1].accumulator)):
            room -= size
            if room >= 0:
                taken.append(one)
        out[loop] = tuple(taken)
    return out
