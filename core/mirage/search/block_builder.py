"""From a reduction system to a block graph: statements and loops, one walk over the term.

Containers in order: middle[0], loop[1], middle[1], ..., loop[P], middle[P]; an output along the streamed axis adds one
more loop that writes it. A part that does not vary along the streamed axis is computed once, in the middle after the
passes that it needs; one that does is computed in each loop that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeGuard

from mirage.ir.index import DimIndex
from mirage.meaning.nodes import (
    Add,
    Apply,
    Change,
    Const,
    Exp,
    FloatLiteral,
    Index,
    Input,
    Inv,
    Mul,
    NegInf,
    Node,
    Reduce,
    Size,
    Sqrt,
)
from mirage.mugraph.decisions import LEAST_DOT, matrix_sides
from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, Load, Loop, Statement, Store, TileDim
from mirage.mugraph.old_value import old
from mirage.search.number_order import is_number, number_steps
from mirage.search.padding_values import PaddingStates, is_finite
from mirage.search.reassociation import Through, through
from mirage.search.tile_dims import components


class CannotBuild(Exception):
    """This system has no block graph with these dims (not an error of the user's: the search goes on)."""


@dataclass
class Container:
    """A list of statements being built, and the names of the terms computed there."""

    level: int  # the passes complete when it begins
    loop: bool
    body: list[Statement] = field(default_factory=list)
    names: dict[tuple[int, str], str] = field(default_factory=dict)
    made: dict[object, str] = field(default_factory=dict)  # operator, args and attributes -> name: nothing twice


@dataclass(frozen=True)
class KernelOutput:
    """An output of a kernel: its term, and the index into the device tensor."""

    tensor: str
    term: int
    index: tuple[DimIndex, ...]


class BlockBuilder:
    """Builds one block graph. `dims` are the tile dims; `streamed` the axis that is looped over (or None); `order` gives
    the pass of each reduction over it; with `nested`, contractions go through the sums nested in them."""

    def __init__(
        self, padding: PaddingStates, dims: tuple[TileDim, ...], streamed: str | None, order: dict[int, int],
        nested: bool = False,
    ) -> None:  # fmt: skip
        self.padding, self.t = padding, padding.t
        self.dims, self.streamed, self.order, self.nested = dims, streamed, order, nested
        t = self.t
        self.dim_of = {a: d for d in dims if d.role != "split" for a in d.axes}
        self.passes = max([order[r] for r in order if streamed and t.reduction(r).axis == streamed], default=0)
        self.middle = [Container(i, False) for i in range(self.passes + 1)]
        self.loops = [Container(i, True) for i in range(self.passes + 2)]
        self.accumulators: dict[int, str] = {}
        self.starts: dict[int, str] = {}  # sums that go on from an accumulator of an earlier loop
        self.count: dict[str, int] = {}
        self._avail: dict[int, int] = {}
        self._tile_dims: dict[frozenset[str], tuple[str, ...]] = {}
        self._by_name = {d.name: d for d in dims}

    # ---- names and dims
    def fresh(self, hint: str) -> str:
        n = self.count[hint] = self.count.get(hint, 0) + 1
        return hint if n == 1 else f"{hint}_{n}"

    def tile_dims(self, x: int) -> tuple[str, ...]:
        axes = self.t.dims(x)
        found = self._tile_dims.get(axes)
        if found is None:
            for a in axes:
                if a not in self.dim_of:
                    raise CannotBuild(f"axis {a} has no tile dim")
            found = tuple(d.name for d in self.dims if d.role != "split" and any(a in axes for a in d.axes))
            self._tile_dims[axes] = found
        return found

    def varies(self, x: int) -> bool:
        return self.streamed is not None and self.streamed in self.t.dims(x)

    def over_stream(self, x: int) -> bool:
        """True if `x` is a reduction over the streamed axis."""
        return self.streamed is not None and self.t.reduces(x, self.streamed)

    def available(self, x: int) -> int:
        """The passes that must be complete before `x` exists (for a part along the streamed axis: before its loop)."""
        if x not in self._avail:
            t = self.t
            found = self.order[x] if self.over_stream(x) else max(map(self.available, t.kids(x)), default=0)
            self._avail[x] = found
        return self._avail[x]

    # ---- values
    def value(self, x: int, at: Container, mode: str = "") -> str:
        """The name of the tile of `x` as seen from `at`. mode "": final values; "run": running values of the
        accumulators of this loop; "old": as they were when the iteration began."""
        if self.over_stream(x):
            return self.accumulated(x, at, mode)
        if at.loop and not self.varies(x):
            if self.available(x) <= at.level:
                return self.value(x, self.middle[self.home(x, at)])
            if mode == "":
                raise CannotBuild("a value is read before its pass")
        elif not at.loop and not self.varies(x):
            home = self.middle[min(self.home(x, at), at.level)]
            if home is not at:
                return self.value(x, home)
        elif not at.loop:
            raise CannotBuild("a value along the streamed axis is read outside its loop")
        running = mode if (at.loop and self.available(x) > at.level) else ""
        key = (x, running)
        if key not in at.names:
            for earlier in self.middle[: at.level] if not at.loop else ():
                if key in earlier.names:
                    return earlier.names[key]
            at.names[key] = self.compute(x, at, running)
        return at.names[key]

    def accumulated(self, x: int, at: Container, mode: str) -> str:
        """The name of an accumulator's value as seen from `at`."""
        if at.loop and self.order[x] == at.level + 1:
            if mode == "":
                raise CannotBuild("a running value is read as if it were final")
            return old(self.accumulator(x)) if mode == "old" else self.accumulator(x)
        if self.order[x] > at.level:
            raise CannotBuild("a reduction is read before its pass")
        return self.accumulator(x)

    def home(self, x: int, at: Container) -> int:
        """The middle container where an invariant part is computed: loads and constants where they are first wanted."""
        if not self.t.kids(x) and not at.loop:
            return at.level
        return self.available(x)

    def emit(
        self, at: Container, hint: str, op: str, args: tuple[str, ...], dims: tuple[str, ...], **attrs: str
    ) -> str:
        key = (op, args, dims, tuple(sorted(attrs.items())))
        if key not in at.made:
            at.made[key] = self.fresh(hint)
            at.body.append(Compute(at.made[key], *key))
        return at.made[key]

    def ordered(self, *dims: tuple[str, ...]) -> tuple[str, ...]:
        have = set().union(*map(set, dims))
        return tuple(d.name for d in self.dims if d.name in have)

    def compute(self, x: int, at: Container, mode: str) -> str:
        t = self.t
        dims = self.tile_dims(x)
        match t.node(x):
            case Input(name, index):
                out = self.fresh(name.lower())
                at.body.append(Load(out, name, index, dims))
                return out
            case Index(axes):
                return self.index(axes, at)
            case Change():
                raise CannotBuild("a change of a running value outside an update")
            case Reduce(op, axis, body):
                return self.reduce(op, axis, body, at, mode)
            case Add():
                return self.add(x, at, mode)
            case Mul(parts):
                return self.product(list(parts), at, mode, dims)
            case Inv(arg):
                root = t.node(arg)
                if isinstance(root, Sqrt):
                    return self.emit(at, "r", "rsqrt", (self.value(root.arg, at, mode),), dims)
                return self.emit(at, "r", "inv", (self.value(arg, at, mode),), dims)
            case Exp(arg):
                return self.emit(at, "p", "exp", (self.value(arg, at, mode),), dims)
            case Sqrt(arg):
                return self.emit(at, "s", "sqrt", (self.value(arg, at, mode),), dims)
            case Apply("finite", (arg,)) if mode == "old":
                return self.value(arg, at, mode)  # before the first element the maximum is -inf: exp gives 0
            case Apply(name, args):
                return self.emit(at, name, name, tuple(self.value(k, at, mode) for k in args), dims)
            case n:
                return self.number(n, at)

    def number(self, n: Const | FloatLiteral | NegInf | Size, at: Container) -> str:
        match n:
            case Const(value):
                return self.emit(at, "c", "const", (), (), value=str(value))
            case FloatLiteral(text):
                return self.emit(at, "c", "const", (), (), value="~" + text)
            case NegInf():
                return self.emit(at, "ninf", "const", (), (), value="-inf")
            case Size(axis):
                return self.emit(at, f"size_{axis}", "size", (), (), axis=axis)

    def index(self, axes: tuple[str, ...], at: Container) -> str:
        total: str | None = None
        have: tuple[str, ...] = ()
        for a in axes:
            step = self.emit(at, f"i_{a}", "index", (), (self.dim_of[a].name,), axis=a)
            have = self.ordered(have, (self.dim_of[a].name,))
            if total is not None:
                size = self.emit(at, f"size_{a}", "size", (), (), axis=a)
                total = self.emit(at, "i", "mul", (total, size), have)
                total = self.emit(at, "i", "add", (total, step), have)
            else:
                total = step
        return total or self.emit(at, "c", "const", (), (), value="0")

    def add(self, x: int, at: Container, mode: str) -> str:
        t = self.t
        plus: list[int] = []
        minus: list[int] = []
        for k in t.kids(x):
            (minus if t.coefficient(k) < 0 else plus).append(k)
        if not plus:
            plus, minus = list(t.kids(x)), []
        dims = self.tile_dims(x)
        names = tuple(self.value(k, at, mode) for k in plus)
        out = names[0]
        if len(names) > 1:
            out = self.emit(at, "a", "add", names, self.ordered(*(self.tile_dims(k) for k in plus)))
        for k in minus:
            out = self.emit(at, "a", "sub", (out, self.value(t.neg(k), at, mode)), dims)
        return out

    def product(self, factors: list[int], at: Container, mode: str, dims: tuple[str, ...]) -> str:
        t = self.t
        if len(factors) > 1 and t.const(-1) in factors:
            factors = [f for f in factors if f != t.const(-1)]
            out = self.product(factors, at, mode, ())
            return self.emit(at, "v", "neg", (out,), self.ordered(*(self.tile_dims(f) for f in factors)))
        over = [n.arg for n in map(t.node, factors) if self.divides(n)]
        top = [f for f in factors if not self.divides(t.node(f))]
        # small factors first, so that broadcasts happen last
        top.sort(key=lambda f: (len(t.dims(f)), f))
        have = self.ordered(*(self.tile_dims(f) for f in top))
        names = [self.value(f, at, mode) for f in top]
        if steps := number_steps(t, top, over):
            first = next(
                i for i, f in enumerate(top) if not is_number(t, f)
            )  # numbers vary along nothing: they come first
            names = [self.by_numbers(top[first], steps, over, at, mode), *names[first + 1 :]]
            over = [d for d in over if d not in steps]
        if not names:
            names = [self.value(t.const(Fraction(1)), at)]
        out = names[0]
        if len(names) > 1:
            out = self.emit(at, "v", "mul", tuple(names), have)
        for d in over:
            have = self.ordered(have, self.tile_dims(d))
            out = self.emit(at, "v", "div", (out, self.value(d, at, mode)), have)
        return out

    def by_numbers(self, x: int, steps: Sequence[int], over: Sequence[int], at: Container, mode: str) -> str:
        """`x` multiplied by numbers, or divided by those that are among `over`, in this order."""
        out = self.value(x, at, mode)
        for step in steps:
            args = (out, self.value(step, at, mode))
            out = self.emit(at, "v", "div" if step in over else "mul", args, self.tile_dims(x))
        return out

    def divides(self, n: Node) -> TypeGuard[Inv]:
        """True if a factor is an inverse that is written as a division. (1 / sqrt has an instruction of its own.)"""
        return isinstance(n, Inv) and not isinstance(self.t.node(n.arg), Sqrt)

    # ---- reductions
    def padded(self, axis: str) -> bool:
        return self.dim_of[axis].tile > 1

    def reduce(self, op: str, axis: str, body: int, at: Container, mode: str) -> str:
        """The reduction of one tile of `body` over the tile dim of `axis`."""
        t = self.t
        dim = self.dim_of[axis]
        if dim.axes != (axis,):
            raise CannotBuild("a reduced axis shares its tile dim")
        if op == "max":
            v = self.value(body, at, mode)
            dims = self.tile_dims(body)
            mask = self.emit(at, "inside", "mask", (), (dim.name,), dim=dim.name)
            v = self.emit(at, "v", "where", (mask, v, self.value(t.neg_inf(), at)), dims)
            return self.emit(at, "top", "max", (v,), tuple(d for d in dims if d != dim.name), dim=dim.name)
        if isinstance(t.node(body), Add) and any(self.sides(axis, t.flat("mul", (k,))[1]) for k in t.kids(body)):
            parts = []
            for k in t.kids(body):
                if axis not in t.dims(k):
                    inside = self.emit(at, "inside", "mask", (), (dim.name,), dim=dim.name)
                    count = self.emit(at, "count", "sum", (inside,), (), dim=dim.name)
                    v = self.emit(at, "v", "mul", (self.value(k, at, mode), count), self.tile_dims(k))
                    parts.append((v, self.tile_dims(k)))
                else:
                    dims = tuple(d for d in self.tile_dims(k) if d != dim.name)
                    parts.append((self.contract(axis, k, at, mode), dims))
            return self.emit(at, "a", "add", tuple(p for p, _ in parts), self.ordered(*(d for _, d in parts)))
        return self.contract(axis, body, at, mode)

    def wide(self, x: int, axis: str) -> frozenset[str]:
        """The tile dims of `x` that are not scalars, without the one of `axis`."""
        return frozenset(d for d in self.tile_dims(x) if self.dim(d).tile > 1) - {self.dim_of[axis].name}

    def dim(self, name: str) -> TileDim:
        return self._by_name[name]

    def sides(self, axis: str, factors: list[int]) -> tuple[frozenset[str], frozenset[str]] | None:
        """The tile dims of the two operands if a product's sum over `axis` is a matrix product, else None."""
        along = [f for f in factors if axis in self.t.dims(f)]
        if len(along) < 2 or self.dim_of[axis].tile < LEAST_DOT:
            return None
        sets = [self.wide(f, axis) for f in along]
        parts = components(frozenset().union(*sets), sets)
        tiles = [[self.dim(d).tile for d in p] for p in parts]
        if len(parts) != 2 or not matrix_sides(tiles[0], tiles[1], self.dim_of[axis].tile):
            return None
        names = [d.name for d in self.dims]
        parts.sort(key=lambda p: min(names.index(d) for d in p))
        return parts[0], parts[1]

    def go_through(self, axis: str, n: Through, at: Container, mode: str) -> str:
        """The inner product of one tile along `axis`, then contracted with the outer factors."""
        t = self.t
        if n.axis == self.streamed or self.dim_of[n.axis].axes != (n.axis,):
            raise CannotBuild("the nested sum is not over one tile")
        inner, outer = t.mul(*n.inner), t.mul(*n.outer)
        pads = {self.padding.of(inner, n.axis), self.padding.of(outer, n.axis)}
        if "zero" not in pads or not all(map(is_finite, pads)):
            raise CannotBuild("the padding of the nested sum is not zero")
        dim, own = self.dim_of[n.axis], self.dim_of[axis].name
        first, second = self.contract(axis, inner, at, mode), self.value(outer, at, mode)
        have = tuple(d for d in self.tile_dims(inner) if d != own)
        dims = tuple(d for d in self.ordered(have, self.tile_dims(outer)) if d != dim.name)
        sides = [{d for d in x if d != dim.name and self.dim(d).tile > 1} for x in (have, self.tile_dims(outer))]
        tiles = [[self.dim(d).tile for d in x] for x in sides]
        if matrix_sides(tiles[0], tiles[1], dim.tile) and not sides[0] & sides[1]:
            out = self.emit(at, "t", "dot", (first, second), dims, dim=dim.name)
        else:
            v = self.emit(at, "v", "mul", (first, second), self.ordered(have, self.tile_dims(outer)))
            out = self.emit(at, "t", "sum", (v,), dims, dim=dim.name)
        if n.rest:
            names = tuple(self.value(f, at, mode) for f in n.rest)
            out = self.emit(at, "t", "mul", (*names, out), self.ordered(dims, *(self.tile_dims(f) for f in n.rest)))
        return out

    def contract(self, axis: str, body: int, at: Container, mode: str) -> str:
        t = self.t
        nested = through(t, axis, body) if self.nested else None
        if nested is not None:
            return self.go_through(axis, nested, at, mode)
        dim = self.dim_of[axis].name
        scale, factors = t.flat("mul", (body,))
        parts = [*factors, *([t.const(scale)] if scale != 1 else [])]
        outside = [f for f in parts if axis not in t.dims(f)]
        inside = [f for f in parts if axis in t.dims(f)]
        clean = self.padding.of(t.mul(*inside), axis) == "zero"
        sides = self.sides(axis, parts)
        if sides is None:
            v = self.product(inside, at, mode, ())
            dims = self.ordered(*(self.tile_dims(f) for f in inside))
            v = v if clean else self.masked(v, dims, dim, at)
            out = self.emit(at, "t", "sum", (v,), tuple(d for d in dims if d != dim), dim=dim)
        else:
            out, dims = self.dot(axis, inside, sides, clean, at, mode)
        if outside:
            have = self.ordered(dims, *(self.tile_dims(f) for f in outside))
            names = tuple(self.value(f, at, mode) for f in outside)
            out = self.emit(at, "t", "mul", (*names, out), tuple(d for d in have if d != dim))
        return out

    def masked(self, v: str, dims: tuple[str, ...], dim: str, at: Container) -> str:
        """The tile, 0 in the padding of a dim."""
        mask = self.emit(at, "inside", "mask", (), (dim,), dim=dim)
        return self.emit(at, "v", "mul", (mask, v), dims)

    def dot(
        self, axis: str, inside: list[int], sides: tuple[frozenset[str], frozenset[str]], clean: bool, at: Container,
        mode: str,
    ) -> tuple[str, tuple[str, ...]]:  # fmt: skip
        """The matrix product of one tile along `axis`, and its dims. Where the padding is not zero, the smaller operand is masked;
        what has the dims of neither operand goes with it."""
        dim = self.dim_of[axis].name
        left, right = sides
        small = 0 if self.elements(left) <= self.elements(right) else 1
        groups = [[f for f in inside if self.wide(f, axis) & side] for side in sides]
        groups[small] += [f for f in inside if f not in groups[0] and f not in groups[1]]
        operands = []
        for i, group in enumerate(groups):
            dims = self.ordered(*(self.tile_dims(f) for f in group))
            v = self.product(group, at, mode, dims) if len(group) > 1 else self.value(group[0], at, mode)
            operands.append((v if clean or i != small else self.masked(v, dims, dim, at), dims))
        if not clean and not is_finite(self.padding.of(self.t.mul(*groups[1 - small]), axis)):
            # the other operand may hold infinities in the padding: 0 * inf; mask it as well
            v, dims = operands[1 - small]
            operands[1 - small] = self.masked(v, dims, dim, at), dims
        (first, rows), (second, columns) = operands
        dims = tuple(d for d in self.ordered(rows, columns) if d != dim)
        return self.emit(at, "t", "dot", (first, second), dims, dim=dim), dims

    def elements(self, dims: frozenset[str]) -> int:
        n = 1
        for d in dims:
            n *= self.dim(d).tile
        return n

    def accumulator(self, r: int) -> str:
        if r not in self.accumulators:
            self.accumulators[r] = self.fresh({"max": "top", "sum": "acc"}[self.t.reduction(r).op])
        return self.accumulators[r]

    def accumulate(self, r: int) -> None:
        """The accumulator of a reduction over the streamed axis, in its loop."""
        t = self.t
        n = t.reduction(r)
        at = self.loops[self.order[r] - 1]
        arg = self.reduce(n.op, n.axis, n.body, at, "run")
        coefficients = []
        for u in n.updates:
            changes = [(y, c) for y in t.walk(u.coefficient) if isinstance(c := t.node(y), Change)]
            swap = {y: self.change(y, c, at) for y, c in changes}
            name = self.coefficient(u.coefficient, swap, at)
            coefficients.append((name, "" if u.sibling is None else self.accumulator(u.sibling)))
        at.body.append(
            Accumulate(self.accumulator(r), n.op, arg, self.tile_dims(r), tuple(coefficients), self.starts.get(r, ""))
        )

    def change(self, y: int, c: Change, at: Container) -> str:
        values = self.value(c.atom, at, "run"), self.value(c.atom, at, "old")
        return self.emit(at, "delta", "sub" if c.action == "+" else "div", values, self.tile_dims(c.atom))

    def coefficient(self, c: int, swap: dict[int, str], at: Container) -> str:
        """The tile of a coefficient in the deltas."""
        t = self.t
        if c in swap:
            return swap[c]
        if not any(y in swap for y in t.walk(c)):
            return self.value(c, at, "run")
        names = tuple(self.coefficient(k, swap, at) for k in t.kids(c))
        n = t.node(c)
        return self.emit(at, "alpha", n.name if isinstance(n, Apply) else n.kind, names, self.tile_dims(c))

    # ---- the whole block
    def build(self, outputs: list[KernelOutput], reductions: frozenset[int], cluster: int = 1) -> BlockGraph:
        return BlockGraph(self.dims, self.statements(outputs, reductions), cluster)

    def statements(self, outputs: list[KernelOutput], reductions: frozenset[int]) -> tuple[Statement | Loop, ...]:
        for r in sorted(reductions):
            if self.over_stream(r):
                self.accumulate(r)
        last = self.loops[self.passes]
        for o in outputs:
            at = last if self.varies(o.term) else self.middle[self.passes]
            written = {a for d in o.index for a in d.axes}
            same = tuple(d.name for d in self.dims if d.role == "grid" and not written & set(d.axes))
            at.body.append(Store(o.tensor, self.value(o.term, at), o.index, same))
        body: list[Statement | Loop] = []
        for i in range(self.passes + 1):
            body += self.middle[i].body if i < self.passes or not last.body else []
            if self.loops[i].body:
                if i == self.passes:
                    body += self.middle[i].body
                assert self.streamed is not None
                body.append(Loop(self.dim_of[self.streamed].name, tuple(self.loops[i].body)))
        return tuple(body)
