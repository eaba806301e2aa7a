"""Facts about a block's body whatever its tiles: what it makes of what, found once for all the tiles that a search gives it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Generic, TypeVar

from mirage.mugraph import old_value
from mirage.mugraph.grammar import Accumulate, Compute, Load, Loop, Statement, Store, ThreadGraph
from mirage.mugraph.walk import computes, reads, writes

REDUCTIONS = ("sum", "max")
REMEMBERED = 4096  # bodies

BodyPlace = tuple[
    int | None, str
]  # the position of a loop in the block's body (None: outside of loops), and a name there
Body = tuple[Statement | Loop, ...]
Dims = tuple[str, ...]  # names of tile dims
T = TypeVar("T")


class OfBody(Generic[T]):
    """What `read` finds in a body; in the same object it is found once. By identity: hashing a body takes longer."""

    def __init__(self, read: Callable[[Body], T]) -> None:
        self._read = read
        self._known: dict[int, tuple[Body, T]] = {}

    def __call__(self, body: Body) -> T:
        have = self._known.get(id(body))
        if have is not None and have[0] is body:
            return have[1]
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        found = self._read(body)
        self._known[id(body)] = body, found  # holding the body keeps its identity its own
        return found


@dataclass(frozen=True)
class DotFacts:
    """A dot: the dims of its operands, and those of its result, in the accumulator's order where it may be `fused` with it."""

    place: BodyPlace
    left: Dims
    right: Dims
    dims: Dims
    k: str
    fused: bool


@dataclass(frozen=True)
class SumFacts:
    """A sum that may be deferred."""

    loop: int
    accumulator: str
    summand: str
    args: frozenset[str]  # the dims of what it adds up
    over: str


@dataclass(frozen=True)
class DotReads:
    """What the dot `out` reads: its operands, as they are named there, each with its dims; and the dims of its result."""

    out: str
    args: tuple[tuple[str, Dims], ...]
    dims: Dims


@dataclass(frozen=True)
class PostponedDot:
    """A dot outside of loops that the compiler makes where its result is added to something, at `used`; its operands wait from
    `made` until then. Both are positions in the body."""

    made: int
    used: int
    reads: DotReads


@dataclass(frozen=True)
class ItemFacts:
    """One item of a body: a loop (`loop` is its position), or a statement outside of loops."""

    loop: int | None
    loads: tuple[Load, ...]
    feeding: tuple[Load, ...]  # of these, those that its dots read, directly or through other operators
    dots: tuple[DotReads, ...]
    reduced: tuple[Dims, ...]  # of each reduction's result


def statements(body: Body) -> Iterator[tuple[int | None, Statement]]:
    """Every statement in order, with the position of its loop."""
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


@dataclass(frozen=True)
class TileDims:
    """The dims of the tiles that a body binds, each once: by operators, and by loads; and those of its accumulators, one for each."""

    computed: tuple[Dims, ...]
    loaded: tuple[Dims, ...]
    accumulators: tuple[Dims, ...]

    @property
    def all(self) -> Iterator[Dims]:
        """Of every tile."""
        return chain(self.computed, self.loaded, self.accumulators)


def _tile_dims(body: Body) -> TileDims:
    computed, loaded, accumulators = dict[Dims, None](), dict[Dims, None](), list[Dims]()
    for _, s in statements(body):
        if isinstance(s, Accumulate):
            accumulators.append(s.dims)
        elif isinstance(s, Load):
            loaded[s.dims] = None
        else:
            computed |= {c.dims: None for c in computes(s)}
    return TileDims(tuple(computed), tuple(loaded), tuple(accumulators))


def feeding_names(body: Sequence[Statement]) -> set[str]:
    """The tiles that the dots of a loop's body read, directly or through other operators."""
    found = {a for s in body for c in computes(s) if c.op == "dot" for a in c.args}
    for s in reversed(body) if found else ():
        if not isinstance(s, Accumulate) and writes(s) in found and all(c.op != "dot" for c in computes(s)):
            found |= set(reads(s))
    return found


class BlockFacts:
    """A whole body: what each tile's dims are, how often each is read; the rest is found when it is asked for. A name may be
    bound again in another loop; a read finds the binding of its own loop first."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.dims: dict[BodyPlace, Dims] = {}
        self.loaded: dict[BodyPlace, Load] = {}
        self.operators: list[tuple[int | None, Compute]] = []
        self.count: Counter[tuple[int | None, str]] = Counter()
        for where, s in statements(body):
            if isinstance(s, Accumulate):
                self.dims[None, s.out] = s.dims
            elif isinstance(s, Load):
                self.dims[where, s.out] = s.dims
                self.loaded[where, s.out] = s
            else:
                for c in computes(s):
                    self.dims[where, c.out] = c.dims
                    self.operators.append((where, c))
        for where, s in statements(body):
            for name in _reads(s):
                self.count[self.key(where, name)] += 1

    def key(self, where: int | None, name: str) -> BodyPlace:
        bare = old_value.bare(name)
        return (where, bare) if (where, bare) in self.dims else (None, bare)

    def of(self, where: int | None, name: str) -> Dims:
        return self.dims.get(self.key(where, name), ())

    @cached_property
    def dots(self) -> tuple[DotFacts, ...]:
        return tuple(self.dot(where, c) for where, c in self.operators if c.op == "dot")

    @cached_property
    def sums(self) -> tuple[SumFacts, ...]:
        return tuple(self.find_sums())

    @cached_property
    def items(self) -> tuple[ItemFacts, ...]:
        return tuple(map(self.item, range(len(self.body))))

    @cached_property
    def made(self) -> dict[str, Load | Compute | ThreadGraph | Accumulate]:
        """What binds each name."""
        return {s.out: s for _, s in statements(self.body) if not isinstance(s, Store)}

    @cached_property
    def first(self) -> dict[str, Dims]:
        """The dims of the first tile of each name."""
        found: dict[str, Dims] = {}
        for _, s in statements(self.body):
            if not isinstance(s, Store):
                found.setdefault(s.out, s.dims)
        return found

    @cached_property
    def operands(self) -> tuple[Dims, ...]:
        """The dims of each computed tile that a dot reads."""
        args = {self.key(where, a) for where, c in self.operators if c.op == "dot" for a in c.args}
        return tuple(self.dims[a] for a in args if a in self.dims and a not in self.loaded)

    @cached_property
    def reduced(self) -> tuple[Dims, ...]:
        """The dims of each reduction's result, each once."""
        return tuple(dict.fromkeys(c.dims for _, c in self.operators if c.op in REDUCTIONS))

    @cached_property
    def postponed(self) -> tuple[PostponedDot, ...]:
        """The dots outside of loops that only an addition reads: Triton makes the sum the start of the product."""
        adders = {
            a: i
            for i, item in enumerate(self.body) if not isinstance(item, Loop)
            for c in computes(item) if c.op == "add" for a in c.args
        }  # fmt: skip
        return tuple(
            PostponedDot(i, adders[dot.out], dot)
            for i, item in enumerate(self.items) if item.loop is None
            for dot in item.dots if self.count[None, dot.out] == 1 and adders.get(dot.out, i) > i
        )  # fmt: skip

    def item(self, position: int) -> ItemFacts:
        item = self.body[position]
        loop = position if isinstance(item, Loop) else None
        body = item.body if isinstance(item, Loop) else (item,)
        made = [c for s in body for c in computes(s)]
        dots = [c for c in made if c.op == "dot"]
        loads = tuple(s for s in body if isinstance(s, Load))
        feeding = feeding_names(body)
        return ItemFacts(
            loop,
            loads,
            tuple(s for s in loads if s.out in feeding),
            tuple(map(self.read_by, dots)),
            tuple(c.dims for c in made if c.op in REDUCTIONS),
        )

    def read_by(self, dot: Compute) -> DotReads:
        args = tuple((a, self.first.get(old_value.bare(a), ())) for a in dot.args)
        return DotReads(dot.out, args, dot.dims)

    def dot(self, where: int | None, c: Compute) -> DotFacts:
        left, right = (self.of(where, a) for a in c.args)
        into = self.accumulator(where, c)
        dims = c.dims if into is None else into.dims
        return DotFacts((where, c.out), left, right, dims, c.attr("dim"), into is not None)

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

    def find_sums(self) -> Iterator[SumFacts]:
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
                    yield SumFacts(i, s.out, s.arg, args, loop.dim)


facts_of: OfBody[BlockFacts] = OfBody(BlockFacts)
tile_dims_of: OfBody[TileDims] = OfBody(_tile_dims)
