"""Rules on names inside a block: where a tile is defined, where it may be read, and which dims it has."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from mirage.ir.index import DimIndex
from mirage.mugraph import old_value
from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, Load, Loop, MuGraph, Statement, Store, ThreadGraph
from mirage.mugraph.rules.breach import Breach, Limits, breach
from mirage.mugraph.rules.declarations import IDENTIFIER
from mirage.mugraph.walk import PlacedBlock, Site, computes, dims_of_axes, parts, reads, sites, writes
from mirage.operators.block_operators import BLOCK
from mirage.operators.entry import BlockOperator

MAX_DIMS = 8


def is_constant(text: str) -> bool:
    """Whether a const's value is a fraction, `-inf`, or `~` and a finite float."""
    if text == "-inf":
        return True
    try:
        return math.isfinite(float(text[1:]) if text.startswith("~") else float(Fraction(text)))
    except (ValueError, ZeroDivisionError, OverflowError):
        return False


@dataclass
class _Names:
    """The names that a statement may read: of tiles outside loops, and of the present loop its tiles, its accumulators
    (`owned`) and those of them that have their running value."""

    outer: set[str] = field(default_factory=set)
    local: set[str] = field(default_factory=set)
    owned: set[str] = field(default_factory=set)
    running: set[str] = field(default_factory=set)

    def enter(self, loop: Loop | None) -> None:
        self.outer |= self.owned
        self.local, self.running = set(), set()
        self.owned = {x.out for x in loop.body if isinstance(x, Accumulate)} if loop is not None else set()

    def read(self, s: Site, name: str) -> None:
        bare, old = old_value.bare(name), old_value.is_old(name)
        if old and bare not in self.owned:
            raise breach(s, f"{bare} is not an accumulator of this loop, so it has no value from before")
        if not old and bare in self.owned and bare not in self.running:
            raise breach(s, f"accumulator {bare} is read before it is updated")
        if not old and bare not in self.owned | self.outer | self.local:
            raise breach(s, f"{bare} is not defined here")

    def define(self, s: Site) -> None:
        out = writes(s.statement)
        accumulates = isinstance(s.statement, Accumulate)
        for c in computes(s.statement) if isinstance(s.statement, ThreadGraph) else ():
            if c.out in self.outer | self.local | self.owned and c.out != out:
                raise breach(s, f"{c.out} is defined twice")
        if out is None:
            return
        if not IDENTIFIER.match(out):
            raise breach(s, f"{out!r} is not an identifier")
        if out in self.outer | self.local | self.running or (out in self.owned and not accumulates):
            raise breach(s, f"{out} is defined twice")
        (self.running if accumulates else self.outer if s.loop is None else self.local).add(out)


def _scope(part: PlacedBlock) -> None:
    names = _Names()
    at = -1
    for s in sites(part):
        if s.position != at:
            names.enter(s.loop)
            at = s.position
        for name in reads(s.statement):
            names.read(s, name)
        names.define(s)


def scope(m: MuGraph, limits: Limits) -> None:
    """Names are defined once, before they are used; names of a loop are gone after it, but for its accumulators."""
    for part in parts(m):
        _scope(part)


def _index(
    m: MuGraph, graph: BlockGraph, tensor: str, index: tuple[DimIndex, ...], *, outside: bool
) -> tuple[str, ...]:
    """The tile dims (split dims left out) that an index uses. Raises Breach where it does not fit the tensor; `outside`:
    it may reach beyond a dimension of rigid size, where it reads the pad (the parts of a concatenation do), but not miss
    the dimension altogether."""
    t = next((t for t in m.tensors if t.name == tensor), None)
    if t is None:
        raise Breach("", f"tensor {tensor} is not declared")
    if len(index) != len(t.dims):
        raise Breach("", f"tensor {tensor} has {len(t.dims)} dimensions, the index has {len(index)}")
    dim_of = dims_of_axes(graph)
    used: list[str] = []
    for i, (entry, size) in enumerate(zip(index, m.shape(t), strict=True)):
        n = 1
        for a in entry.axes:
            if a not in dim_of:
                raise Breach("", f"axis {a} has no dim in this block")
            n *= m.size(a)
            if dim_of[a].role != "split":
                used.append(dim_of[a].name)
        if len(set(entry.axes)) != len(entry.axes):
            raise Breach("", f"dimension {i} of {tensor} is indexed twice by one axis")
        if outside and t.rigid and t.rigid[i] is not None:
            if entry.offset >= size or entry.offset + n <= 0:
                raise Breach("", f"dimension {i} of {tensor} has size {size}, the index begins at {entry.offset}")
        elif entry.offset < 0 or entry.offset + n > size:
            raise Breach("", f"dimension {i} of {tensor} has size {size}, the index reaches {entry.offset + n}")
    return tuple(dict.fromkeys(used))


def _compute(m: MuGraph, graph: BlockGraph, c: Compute, known: dict[str, tuple[str, ...]]) -> None:
    op = BLOCK.get(c.op)
    if op is None:
        raise Breach("", f"{c.op} is not a block operator")
    if not op.least <= len(c.args) <= op.most:
        raise Breach("", f"{c.op} takes {op.least} to {op.most} arguments, not {len(c.args)}")
    _attributes(m, graph, c, op)
    args = [set(known[old_value.bare(a)]) for a in c.args]
    union = set().union(*args)
    if op.form == "pointwise" and not union <= set(c.dims):
        raise Breach("", f"the result lacks the dims {sorted(union - set(c.dims))} of its arguments")
    if op.form in ("reduce", "dot"):
        _reduction(graph, c, args)
    if c.op == "mask" and c.dims != (c.attr("dim"),):
        raise Breach("", f"a mask of {c.attr('dim')} has that dim alone")
    if c.op == "index":
        owner = dims_of_axes(graph).get(c.attr("axis"))
        if owner is None or owner.role == "split" or c.dims != (owner.name,):
            raise Breach("", f"the index of {c.attr('axis')} has the one dim of that axis")


def _attributes(m: MuGraph, graph: BlockGraph, c: Compute, op: BlockOperator) -> None:
    if len({k for k, _ in c.attrs}) != len(c.attrs) or not set(op.attrs) <= {k for k, _ in c.attrs}:
        raise Breach("", f"{c.op} needs the attributes {', '.join(op.attrs) or 'none'}, each once")
    if c.op == "const" and not is_constant(c.attr("value")):
        raise Breach("", f"the constant {c.attr('value')[:40]!r} is no fraction, -inf, or ~float")
    if "dim" in op.attrs and c.attr("dim") not in {d.name for d in graph.dims if d.role != "split"}:
        raise Breach("", f"{c.attr('dim')} is not a dim of this block")
    if "axis" in op.attrs and c.attr("axis") not in {a for a, _ in m.axes}:
        raise Breach("", f"{c.attr('axis')} is not an axis")


def _reduction(graph: BlockGraph, c: Compute, args: list[set[str]]) -> None:
    over, union = c.attr("dim"), set().union(*args)
    if graph.dim(over).role == "grid":
        raise Breach("", f"{over} is a grid dim: a block has one tile of it, so it cannot reduce over it")
    if any(over not in a for a in args):
        raise Breach("", f"an argument does not have the reduced dim {over}")
    if set(c.dims) != union - {over}:
        raise Breach("", f"the result's dims are {sorted(union - {over})}, not {sorted(set(c.dims))}")


def tiles(m: MuGraph, limits: Limits) -> None:
    """A tile's dims follow from what made it: a load's from its index, an operator's from its arguments."""
    for part in parts(m):
        known: dict[str, tuple[str, ...]] = {}
        names = {d.name for d in part.graph.dims if d.role != "split"}
        for s in sites(part):  # an accumulator's dims are known before its loop begins (NAME@old)
            if isinstance(s.statement, Accumulate):
                known[s.statement.out] = s.statement.dims
        for s in sites(part):
            x = s.statement
            dims = getattr(x, "dims", ())
            if len(dims) > MAX_DIMS:
                raise breach(s, f"a tile has at most {MAX_DIMS} dims")
            if not set(dims) <= names or len(set(dims)) != len(dims):
                raise breach(s, "a tile has each of its dims once, and only dims of this block that are not split")
            try:
                _statement(m, part, x, known)
            except Breach as b:
                raise breach(s, b.message) from None


def _statement(m: MuGraph, part: PlacedBlock, x: Statement, known: dict[str, tuple[str, ...]]) -> None:
    if isinstance(x, Load):
        dims = _index(m, part.graph, x.tensor, x.index, outside=True)
        if set(dims) != set(x.dims):
            raise Breach("", f"the index gives the dims {dims}")
        known[x.out] = x.dims
    elif isinstance(x, Compute):
        _compute(m, part.graph, x, known)
        known[x.out] = x.dims
    elif isinstance(x, ThreadGraph):
        _thread_graph(m, part, x, known)
        known[x.out] = x.dims
    elif isinstance(x, Accumulate):
        if set(known[old_value.bare(x.arg)]) != set(x.dims):
            raise Breach("", f"the contribution has the dims {list(known[old_value.bare(x.arg)])}")
        for coef, acc in x.update:
            if not set(known[old_value.bare(coef)]) | set(known[acc or x.out]) <= set(x.dims):
                raise Breach("", f"the term {coef} * {acc or x.out} has dims that the accumulator lacks")
    elif isinstance(x, Store) and set(_index(m, part.graph, x.tensor, x.index, outside=False)) != set(known[x.tile]):
        raise Breach("", f"the tile has the dims {list(known[x.tile])}, the index gives other ones")


def _thread_graph(m: MuGraph, part: PlacedBlock, x: ThreadGraph, known: dict[str, tuple[str, ...]]) -> None:
    inner = dict(known)
    for c in x.body:
        if c.op not in BLOCK or BLOCK[c.op].form not in ("pointwise", "leaf"):
            raise Breach("", f"{c.op} is not pointwise, so no part of a thread graph")
        if any(old_value.bare(a) not in inner for a in c.args):
            raise Breach("", f"an argument of {c.out} is not defined before it")
        _compute(m, part.graph, c, inner)
        inner[c.out] = c.dims
    if not x.body or x.body[-1].out != x.out or set(x.body[-1].dims) != set(x.dims):
        raise Breach("", "a thread graph gives its last operator's tile")
