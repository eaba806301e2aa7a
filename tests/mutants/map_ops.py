"""Mutation operators on µGraphs: the maps, masks, loops, accumulators and operators of a schedule, one thing at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from mutants.term_ops import SMALL_PRIMES

from mirage.ir.index import DimIndex
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    Load,
    Loop,
    MuGraph,
    Store,
    ThreadGraph,
)


@dataclass(frozen=True)
class Place:
    """Where a statement stands: its µGraph, its block, what is computed in it."""

    graph: MuGraph
    block: BlockGraph
    flags: frozenset[str]  # names of masks
    dims: dict[str, tuple[str, ...]]  # of each tile

    def like(self, name: str) -> list[str]:
        """Other tiles over the same dims."""
        own = self.dims.get(name.partition("@")[0])
        return sorted(n for n, d in self.dims.items() if d == own and n != name)


Change = Any  # a statement in the place of another, None (left out), or a list
Operator = Callable[[Place, Any], Iterable[Change]]
SWAPS: dict[str, tuple[str, ...]] = {
    "add": ("mul",), "mul": ("add",), "sub": ("add", "div"), "div": ("mul", "sub"), "maximum": ("minimum",),
    "rsqrt": ("sqrt", "inv"), "sqrt": ("rsqrt",), "exp": ("neg", "sigmoid"), "sigmoid": ("exp", "tanh", "neg"),
    "neg": ("exp",), "inv": ("neg",), "eq": ("lt", "le"), "lt": ("le", "eq"),
}  # fmt: skip


def on(kind: type, change: Callable[[Place, Any], Iterable[Change]]) -> Operator:
    return lambda p, s: change(p, s) if isinstance(s, kind) else ()


def op(*names: str) -> Callable[[Callable[[Place, Compute], Iterable[Change]]], Operator]:
    def make(change: Callable[[Place, Compute], Iterable[Change]]) -> Operator:
        return lambda p, s: change(p, s) if isinstance(s, Compute) and s.op in names else ()

    return make


def permuted(p: Place, s: Any) -> Iterator[Change]:
    for i in range(len(s.index) - 1):
        yield replace(s, index=(*s.index[:i], s.index[i + 1], s.index[i], *s.index[i + 2 :]))


def entries(change: Callable[[Place, DimIndex], Iterable[DimIndex]]) -> Callable[[Place, Any], Iterator[Change]]:
    def each(p: Place, s: Any) -> Iterator[Change]:
        for i, d in enumerate(s.index):
            for new in change(p, d):
                if new != d:
                    yield replace(s, index=(*s.index[:i], new, *s.index[i + 1 :]))

    return each


def shifted(p: Place, d: DimIndex) -> list[DimIndex]:
    tiles = [x.tile for x in p.block.dims if d.axes and d.axes[-1] in x.axes and x.role in ("loop", "grid")]
    return [replace(d, offset=d.offset + n) for n in {1, *tiles}]


def other_axis(p: Place, d: DimIndex) -> list[DimIndex]:
    axes = sorted({a for x in p.block.dims for a in x.axes} - set(d.axes))
    return [replace(d, axes=(*d.axes[:i], a, *d.axes[i + 1 :])) for i in range(len(d.axes)) for a in axes]


def other_tensor(p: Place, s: Load) -> Iterator[Change]:
    own = p.graph.tensor(s.tensor)
    yield from (replace(s, tensor=x.name) for x in p.graph.tensors if x.dims == own.dims and x.name != s.tensor)


def first_misused(p: Place, s: Store) -> Iterator[Change]:
    grid = [d.name for d in p.block.grid]
    if s.first:
        yield replace(s, first=())
    yield from (replace(s, first=(*s.first, d)) for d in grid if d not in s.first)


def mask_dropped(p: Place, s: Compute) -> Iterator[Change]:
    if s.op == "where" and s.args[0] in p.flags:
        yield Compute(s.out, "add", (s.args[1],), s.dims)
    if s.op == "mul":
        for i, a in enumerate(s.args):
            if a in p.flags and len(s.args) > 1:
                yield replace(s, args=(*s.args[:i], *s.args[i + 1 :]))


def each_arg(change: Callable[[Place, str], Iterable[str]]) -> Callable[[Place, Compute], Iterator[Change]]:
    def each(p: Place, s: Compute) -> Iterator[Change]:
        for i, a in enumerate(s.args):
            for new in change(p, a):
                yield replace(s, args=(*s.args[:i], new, *s.args[i + 1 :]))

    return each


def arg_dropped(p: Place, s: Compute) -> Iterator[Change]:
    if s.op in ("add", "mul") and len(s.args) > 1:
        yield from (replace(s, args=s.args[:i] + s.args[i + 1 :]) for i in range(len(s.args)))


def arg_doubled(p: Place, s: Compute) -> Iterator[Change]:
    if s.op in ("add", "mul"):
        yield from (replace(s, args=(*s.args, a)) for a in s.args)


def args_reversed(p: Place, s: Compute) -> Iterator[Change]:
    if s.op in ("sub", "div", "lt", "le"):
        yield replace(s, args=s.args[::-1])
    if s.op == "where":
        yield replace(s, args=(s.args[0], s.args[2], s.args[1]))


def constant(p: Place, s: Compute, change: Callable[[Fraction], Iterable[Fraction]]) -> Iterator[Change]:
    if s.op == "const" and s.attr("value")[0] not in "-~":
        for v in change(Fraction(s.attr("value"))):
            yield replace(s, attrs=(("value", f"{v.numerator}/{v.denominator}"),))


def constants(change: Callable[[Fraction], Iterable[Fraction]]) -> Operator:
    return on(Compute, lambda p, s: constant(p, s, change))


def attribute(name: str, *ops: str) -> Operator:
    """The dim or axis of an operator becomes another of the block."""

    def change(p: Place, s: Compute) -> Iterator[Change]:
        names = {d.name for d in p.block.dims} if name == "dim" else {a for d in p.block.dims for a in d.axes}
        yield from (replace(s, attrs=((name, other),)) for other in sorted(names - {s.attr(name)}))

    return op(*ops)(change)


def number(p: Place, s: Compute) -> Iterator[Change]:
    yield Compute(s.out, "const", (), (), (("value", str(p.graph.size(s.attr("axis")))),))


def coefficients(p: Place, s: Accumulate) -> Iterator[Change]:
    for i, (c, a) in enumerate(s.update):
        for new in p.like(c):
            yield replace(s, update=(*s.update[:i], (new, a), *s.update[i + 1 :]))


def carried(p: Place, s: Accumulate) -> Iterator[Change]:
    if s.update:
        yield replace(s, update=())
        yield from (replace(s, update=s.update[:i] + s.update[i + 1 :]) for i in range(len(s.update)))


def old(p: Place, name: str) -> list[str]:
    return [name.partition("@")[0]] if "@" in name else [f"{name}@old"]


STATEMENTS: dict[str, Operator] = {
    "a load's indices are permuted": on(Load, permuted),
    "a load is shifted": on(Load, entries(shifted)),
    "a load reads along another axis": on(Load, entries(other_axis)),
    "a load reads index 0": on(Load, entries(lambda p, d: [DimIndex()])),
    "a load reads another tensor": on(Load, other_tensor),
    "a load pads with 1": on(Load, lambda p, s: [replace(s, pad=1.0)]),
    "a store's indices are permuted": on(Store, permuted),
    "a store is shifted": on(Store, entries(shifted)),
    "a store goes along another axis": on(Store, entries(other_axis)),
    "a store goes to index 0": on(Store, entries(lambda p, d: [DimIndex()])),
    "`first` is misused": on(Store, first_misused),
    "a store is left out": on(Store, lambda p, s: [None]),
    "a store is done twice": on(Store, lambda p, s: [[s, s]]),
    "another tile is stored": on(Store, lambda p, s: [replace(s, tile=n) for n in p.like(s.tile)]),
    "a mask is dropped": on(Compute, mask_dropped),
    "the mask of another dim": attribute("dim", "mask"),
    "a rescale is lost": on(Accumulate, carried),
    "a rescale by another tile": on(Accumulate, coefficients),
    "an accumulator of the other kind": on(
        Accumulate, lambda p, s: [replace(s, op="max" if s.op == "sum" else "sum", update=())]
    ),
    "another tile is accumulated": on(Accumulate, lambda p, s: [replace(s, arg=n) for n in p.like(s.arg)]),
    "old for new, new for old": on(Compute, each_arg(old)),
    "another tile is an argument": on(Compute, each_arg(lambda p, a: p.like(a))),
    "a sum over another dim": attribute("dim", "sum", "max", "dot"),
    "sum for max, max for sum": op("sum", "max")(
        lambda p, s: [replace(s, op="max" if s.op == "sum" else "sum")]
    ),
    "another operator": op(*SWAPS)(lambda p, s: [replace(s, op=o) for o in SWAPS[s.op]]),
    "a term or factor is left out": on(Compute, arg_dropped),
    "a term or factor counts twice": on(Compute, arg_doubled),
    "arguments are exchanged": on(Compute, args_reversed),
    "a constant is 1% off": constants(lambda c: [c * Fraction(101, 100), c + 1]),
    "epsilon is ten times as large": constants(lambda c: [c * 10] if 0 < c < Fraction(1, 1000) else []),
    "a constant is congruent modulo 227 and 113": constants(lambda c: [c + SMALL_PRIMES]),
    "the size is a number": op("size")(number),
    "the size of another axis": attribute("axis", "size"),
    "the index along another axis": attribute("axis", "index"),
}  # fmt: skip


def every(items: tuple[Any, ...]) -> Iterator[Any]:
    for s in items:
        yield s
        if isinstance(s, (Loop, ThreadGraph)):
            yield from every(s.body)


def place(graph: MuGraph, block: BlockGraph) -> Place:
    """Names of a tail are those of its own block; a thread graph's inner names count too."""
    found = [s for s in every(block.body) if isinstance(s, (Compute, Load, Accumulate, ThreadGraph))]
    flags = {s.out for s in found if isinstance(s, Compute) and s.op == "mask"}
    return Place(graph, block, frozenset(flags), {s.out: s.dims for s in found})


def edits(p: Place, operator: Operator, items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """`items` with one statement changed, in every way that the operator knows."""
    for i, s in enumerate(items):
        for new in operator(p, s):
            if new != s:
                yield (*items[:i], *(new if isinstance(new, list) else [] if new is None else [new]), *items[i + 1 :])
        if isinstance(s, (Loop, ThreadGraph)):
            for body in edits(p, operator, s.body):
                if body:
                    yield (*items[:i], replace(s, body=body), *items[i + 1 :])


def blocks(p: Place) -> Iterator[tuple[str, BlockGraph]]:
    """Mutants of a block's dims and order."""
    b = p.block
    for i, d in enumerate(b.dims):
        if d.role == "split":
            yield (
                "a split does not share its loop out",
                replace(b, dims=(*b.dims[:i], replace(d, splits=""), *b.dims[i + 1 :])),
            )
        if len(d.axes) > 1:
            yield (
                "a dim's axes are permuted",
                replace(b, dims=(*b.dims[:i], replace(d, axes=d.axes[::-1]), *b.dims[i + 1 :])),
            )
        for other in b.dims:
            if d.role == other.role == "loop" and d.name != other.name:
                new = replace(d, axes=other.axes)
                yield "a loop runs over another axis", replace(b, dims=(*b.dims[:i], new, *b.dims[i + 1 :]))
    for i, s in enumerate(b.body):
        if isinstance(s, Loop) and i + 1 < len(b.body) and not isinstance(b.body[i + 1], Loop):
            inner = replace(s, body=(*s.body, b.body[i + 1]))
            yield "a statement enters the loop", replace(b, body=(*b.body[:i], inner, *b.body[i + 2 :]))
        if isinstance(s, Loop) and len(b.body) > 1 and isinstance(s.body[-1], Compute):
            yield (
                "a statement leaves the loop",
                replace(b, body=(*b.body[:i], replace(s, body=s.body[:-1]), s.body[-1], *b.body[i + 1 :])),
            )


def mutants(graph: MuGraph) -> Iterator[tuple[str, MuGraph]]:
    """(operator, mutated µGraph), every operator at every statement."""
    for i, k in enumerate(graph.kernels):
        if not isinstance(k, CustomKernel):
            continue

        def put(new: CustomKernel, i: int = i) -> MuGraph:
            return replace(graph, kernels=(*graph.kernels[:i], new, *graph.kernels[i + 1 :]))

        for role in ("block", "tail"):
            block = getattr(k, role)
            if block is None:
                continue
            p = place(graph, block)
            for name, operator in STATEMENTS.items():
                for body in edits(p, operator, block.body):
                    yield name, put(replace(k, **{role: replace(block, body=body)}))
            for name, changed in blocks(p):
                yield name, put(replace(k, **{role: changed}))
        if k.tail is not None:
            yield "the tail is left out", put(replace(k, tail=None))
    if len(graph.kernels) > 1:
        yield "kernels are exchanged", replace(graph, kernels=graph.kernels[::-1])
        for i in range(len(graph.kernels)):
            yield "a kernel is left out", replace(graph, kernels=graph.kernels[:i] + graph.kernels[i + 1 :])
