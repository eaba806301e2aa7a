"""From a block graph of the original to the statements of one of ours: from each output down, one index a dim.

Its dims are *units*: grid x, y and z, the for-loop, and the axes of its tiles, each a dim of its own; `merge_units.py` joins them
and gives them names. A value that is read at two indices is computed at both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from mirage.ir.index import DimIndex
from mirage.mugraph import old_value
from mirage.mugraph.grammar import Accumulate, Compute, Load, Statement, Store
from mirage.program.axis_classes import Leaves
from mirage_original.accumulators import ACCUMULATORS, Accumulator
from mirage_original.block_data import BlockStep, Threadblock
from mirage_original.block_pointwise import POINTWISE
from mirage_original.graph_axes import Joint
from mirage_original.mistakes import Place, mistake

BEFORE, LOOP, AFTER = 0, 1, 2
Index = tuple[Leaves, ...]  # of a tile: one entry a dim, without grid and loop
DOT = 16  # the least tile of a matrix product
MOST_PARTS = 64  # of a concat


@dataclass(frozen=True)
class TileValue:
    """A tile: its name, its units, and whether it stands before, in or after the loop."""

    name: str
    units: tuple[int, ...] = ()
    where: int = BEFORE


@dataclass
class Emitted:
    """What a block graph became. `accesses`: for each load and store the tensor (place in the kernel's) and its index as
    units. `dotted`: units of matrix products."""

    grid: list[int]
    loop: int | None
    statements: tuple[list[Statement], list[Statement], list[Statement]] = field(default_factory=lambda: ([], [], []))
    inputs: list[tuple[int, Index]] = field(default_factory=list)
    outputs: list[tuple[int, Index]] = field(default_factory=list)
    dotted: set[int] = field(default_factory=set)
    places: dict[str, Place | None] = field(default_factory=dict)


def unit(leaf: int) -> str:
    """The name of a unit until it is rendered: of its dim and of its axis."""
    return f"u{leaf}"


class Emission:
    """One block graph; `reads` and `writes` name the tensors of its inputs and outputs."""

    def __init__(self, tb: Threadblock, joint: Joint, group: int, reads: Sequence[str], writes: Sequence[str]) -> None:
        self.tb, self.joint, self.group, self.reads, self.writes = tb, joint, group, reads, writes
        self.grid = [joint.of(n, group, alone=True) for n in tb.grid]
        self.loop = joint.of(tb.forloop_range, group, alone=True)
        self.out = Emitted([g for leaves in self.grid for g in leaves], self.loop[0] if self.loop else None)
        self.dims: list[tuple[Leaves, ...]] = []
        self.parts: dict[int, tuple[int, ...]] = {}  # an axis that is several side by side
        self.sides: dict[tuple[int, int], int] = {}  # (a concat, a part) -> the operand that it is of
        self.origin: dict[int, int] = {}  # a copy -> the axis
        self.folds: dict[int, tuple[Leaves, Leaves]] = {}  # step -> what its last dim is summed over, what stays
        self.memo: dict[tuple[int, Index], TileValue] = {}
        self.made: dict[object, TileValue] = {}
        self.running: dict[tuple[int, Index], str] = {}  # running maxima -> accumulators
        self.names: set[str] = set()
        self.now = 0

    def run(self) -> Emitted:
        for i, s in enumerate(self.tb.steps):
            self.now = i
            self.dims.append(tuple(self.axes(i, s)))
        self.dims = [tuple(self.joint.resolve(d) for d in dims) for dims in self.dims]
        self.join_parts()
        for i, s in enumerate(x for x in self.tb.steps if x.op == "output"):
            self.store(i, s)
        for part in self.out.statements:
            for x in part:
                dims = getattr(x, "dims", None) or [a for e in getattr(x, "index", ()) for a in e.axes]
                self.joint.together(int(d[1:]) for d in dims)
        return self.out

    # ---- which axes a tile has
    def axes(self, i: int, s: BlockStep) -> Sequence[Leaves]:
        args = [self.dims[a] for a in s.args]
        if s.op == "input":
            return [self.joint.of(n, self.group) for n in s.shape]
        if s.op == "matmul":
            a, b = args
            batch = [self.same(x, y) for x, y in zip(a[:-2], b[:-2], strict=True)]
            self.same(a[-1], b[-2])
            return [*batch, a[-2], b[-1]]
        if s.op == "concat":
            d = s.attr("dim")
            both = [self.same(x, y) if j != d else () for j, (x, y) in enumerate(zip(*args, strict=True))]
            both[d] = self.joint.of(s.shape[d], self.group)
            parts = tuple(x for j, a in enumerate(args) for x in self.part(i, j, s, a[d], d))
            if len(parts) > MOST_PARTS:
                raise self.mistake(f"a concat of {len(parts)} parts", f"concatenate {MOST_PARTS} at most")
            self.parts[both[d][0]] = parts
            return both
        out = list(args[0])
        if s.op == "accumulate":
            form = ACCUMULATORS[s.attr("acc")]
            if form.fold:
                out[-1] = self.fold(i, s, out[-1], len(out) - 1)
            for x, y in zip(args[1] if len(args) > 1 else (), out, strict=False):
                self.same(x, y)
            return out
        if s.op in ("reduction", "reduction_to_dimx", "reduction_max"):
            d = s.attr("dim")
            out[d] = self.fold(i, s, out[d], d)
            return out
        if len(args) > 1:
            return [self.same(x, y) for x, y in zip(*args, strict=True)]
        return out

    def part(self, i: int, side: int, s: BlockStep, leaves: Leaves, dim: int) -> tuple[int, ...]:
        """The parts that an operand of a concat gives: its own, or an axis for all of it."""
        own = self.parts.get(leaves[0]) if leaves else None
        if own is None:
            own = self.joint.of(self.tb.steps[s.args[side]].shape[dim], self.group)
        if not own:
            raise self.mistake("a concat of a tile of size 1", "concatenate tiles of two elements or more")
        self.sides |= {(i, x): side for x in own}
        return own

    def same(self, a: Leaves, b: Leaves) -> Leaves:
        if not a or not b:
            return a or b
        x, y = self.joint.resolve(a), self.joint.resolve(b)
        if x == y:
            return x
        first, second = (self.parts.pop(z[0], None) for z in (x, y))
        out = self.joint.unify(a, b)
        if first and second and self.sizes(first) == self.sizes(second):
            self.parts[out[0]] = tuple(self.joint.unify((p,), (q,))[0] for p, q in zip(first, second, strict=True))
        elif first or second:
            raise self.mistake("a concat meets a tile that is none like it", "concatenate both, part by part")
        return out

    def fold(self, i: int, s: BlockStep, leaves: Leaves, dim: int) -> Leaves:
        """What stays of a dim; `folds` has what it is summed over."""
        size, kept = self.tb.steps[s.args[0]].shape[dim], s.shape[dim]
        if kept == 1:
            self.folds[i] = (leaves, ())
            return ()
        if any(x in self.parts for x in self.joint.resolve(leaves)):
            raise self.mistake("a concat that is reduced in part", "reduce its parts")
        if kept == size:
            self.folds[i] = ((), leaves)
            return leaves
        over, stays = self.joint.of(size // kept, self.group), self.joint.of(kept, self.group)
        self.joint.unify(leaves, (*over, *stays))
        self.folds[i] = (over, stays)
        return stays

    def join_parts(self) -> None:
        self.parts = {self.one(x): tuple(map(self.one, parts)) for x, parts in self.parts.items()}
        self.sides = {(i, self.one(x)): side for (i, x), side in self.sides.items()}

    def one(self, leaf: int) -> int:
        return self.joint.resolve((leaf,))[0]

    def mistake(self, message: str, next_step: str | None = None) -> Exception:
        return mistake(message, next_step, self.tb.steps[self.now].place)

    # ---- statements
    def name(self, hint: str) -> str:
        n, out = 1, hint
        while out in self.names:
            n += 1
            out = f"{hint}_{n}"
        self.names.add(out)
        self.out.places[out] = self.tb.steps[self.now].place
        return out

    def op(
        self, op: str, *args: TileValue, units: Sequence[int] | None = None, hint: str = "", **attrs: str
    ) -> TileValue:
        """An operator's result; the same one is made once."""
        have = tuple(dict.fromkeys(u for a in args for u in a.units)) if units is None else tuple(units)
        where = max((a.where for a in args), default=BEFORE)
        key = (op, tuple(a.name for a in args), frozenset(have), tuple(sorted(attrs.items())))
        if key not in self.made:
            name = self.name(hint or op)
            self.out.statements[where].append(
                Compute(name, op, tuple(a.name for a in args), tuple(map(unit, have)), tuple(sorted(attrs.items())))
            )
            self.made[key] = TileValue(name, have, where)
        return self.made[key]

    def number(self, value: float) -> TileValue:
        if not math.isfinite(value):
            return self.op("const", value="-inf", hint="c")
        exact = Fraction(repr(value))
        return self.op("const", value=str(exact) if exact.denominator <= 10**12 else f"~{value!r}", hint="c")

    def total(self, x: TileValue, leaves: Leaves) -> TileValue:
        for u in leaves:
            x = self.op("sum", x, units=[v for v in x.units if v != u], hint="s", dim=unit(u))
        return x

    def added(self, xs: Sequence[TileValue]) -> TileValue:
        return xs[0] if len(xs) == 1 else self.op("add", *xs, hint="a")

    def size(self, leaves: Leaves) -> TileValue:
        """The number of elements along units, as a value."""
        return self.op("size", axis=" ".join(map(unit, leaves)), hint="count")

    def either(self, leaves: Leaves) -> list[Leaves]:
        """A dim as the list of its parts: itself, but for a concat."""
        return [(p,) for p in self.parts[leaves[0]]] if leaves and leaves[0] in self.parts else [leaves]

    def bind(self, leaves: Leaves, index: Index) -> Leaves:
        """A dim's own axes, or copies of those that are indexed already."""
        taken = {x for entry in index for x in entry}
        out = []
        for x in leaves:
            out.append(self.joint.copy(x, self.group) if x in taken else x)
            self.origin[out[-1]] = self.origin.get(x, x)
        return tuple(out)

    # ---- values
    def value(self, i: int, index: Index) -> TileValue:
        """The tile of a step at an index (entries of dims of size one are left out)."""
        s = self.tb.steps[i]
        index = tuple(e if n > 1 else () for e, n in zip(index, s.shape, strict=True))
        if (i, index) not in self.memo:
            before, self.now = self.now, i
            self.memo[i, index] = self.compute(i, s, index)
            self.now = before
        return self.memo[i, index]

    def compute(self, i: int, s: BlockStep, index: Index) -> TileValue:
        if s.op == "input":
            return self.load(s, index)
        if s.op == "matmul":
            return self.matmul(s, index)
        if s.op == "concat":
            return self.concat(s, index)
        if s.op == "accumulate":
            return self.accumulate(i, s, index)
        if s.op in ("reduction", "reduction_to_dimx"):
            return self.reduce(i, s.args[0], s.attr("dim"), index)
        if s.op == "reduction_max":
            return self.running_max(i, s, index)
        if s.op == "max_change":
            return self.max_change(s, index)
        if s.op == "rms_norm":
            return self.rms_norm(s, index)
        return POINTWISE[s.op](self, s, [self.value(a, index) for a in s.args])

    def load(self, s: BlockStep, index: Index) -> TileValue:
        full = self.full(s, index)
        units = tuple(x for e in full for x in e)
        where = LOOP if set(self.loop) & set(units) else BEFORE
        tensor = self.reads[s.attr("input")]
        name = self.name(tensor.lower())
        entries = tuple(DimIndex(tuple(map(unit, e))) for e in full)
        self.out.statements[where].append(Load(name, tensor, entries, tuple(map(unit, units))))
        self.out.inputs.append((s.attr("input"), full))
        return TileValue(name, units, where)

    def full(self, s: BlockStep, index: Index) -> Index:
        """An index with its grid and loop parts."""
        out = []
        for d, entry in enumerate(index):
            grid = tuple(x for g, leaves in zip(s.attr("map"), self.grid, strict=True) if g == d for x in leaves)
            out.append((*grid, *(self.loop if s.attr("loop") == d else ()), *entry))
        return tuple(out)

    def matmul(self, s: BlockStep, index: Index) -> TileValue:
        a, b = s.args
        terms = []
        for k in self.either(self.dims[a][-1]):
            k = self.bind(k, index)
            x = self.value(a, (*index[:-1], k))
            y = self.value(b, (*index[:-2], k, index[-1]))
            terms.append(self.contract(x, y, k))
        return self.added(terms)

    def contract(self, x: TileValue, y: TileValue, k: Leaves) -> TileValue:
        scalar = {*self.out.grid, *self.loop, *k}
        sides = [set(v.units) - scalar for v in (x, y)]
        if len(k) == 1 and all(len(w) == 1 for w in sides) and sides[0] != sides[1]:
            self.out.dotted |= {*k, *sides[0], *sides[1]}
            units = [u for u in dict.fromkeys((*x.units, *y.units)) if u not in k]
            return self.op("dot", x, y, units=units, hint="dot", dim=unit(k[0]))
        return self.total(self.op("mul", x, y, hint="v"), k)

    def concat(self, s: BlockStep, index: Index) -> TileValue:
        d: int = s.attr("dim")
        entry = tuple(self.origin.get(x, x) for x in index[d])
        side = self.sides.get((self.now, entry[0])) if len(entry) == 1 else None
        if side is None:
            raise self.mistake("a concat is read as if it were one tensor", "concatenate what it is multiplied by, too")
        return self.value(s.args[side], index)

    def sizes(self, leaves: Leaves) -> list[int]:
        return [self.joint.size(x) for x in leaves]

    def reduce(self, i: int, a: int, dim: int, index: Index, square: bool = False) -> TileValue:
        """The sum of a step over what `folds` says."""
        over, _ = self.folds[i]
        terms = []
        for k in self.either(over):
            k = self.bind(k, index)
            x = self.value(a, (*index[:dim], (*k, *index[dim]), *index[dim + 1 :]))
            terms.append(self.total(self.op("mul", x, x, hint="square") if square else x, k))
        return self.added(terms)

    def running_max(self, i: int, s: BlockStep, index: Index) -> TileValue:
        d = s.attr("dim")
        tops = []
        for k in self.either(self.folds[i][0]):
            k = self.bind(k, index)
            x = self.value(s.args[0], (*index[:d], k, *index[d + 1 :]))
            for u in (*k, *self.loop):
                if u in x.units:
                    x = self.op("max", x, units=[v for v in x.units if v != u], hint="top", dim=unit(u))
            tops.append(x)
        top = tops[0] if len(tops) == 1 else self.op("maximum", *tops, hint="top")
        if not self.loop or top.where != LOOP:
            return top
        name = self.running[i, index] = self.name("m")
        self.out.statements[LOOP].append(Accumulate(name, "max", top.name, tuple(map(unit, top.units))))
        return TileValue(name, top.units, LOOP)

    def max_change(self, s: BlockStep, index: Index) -> TileValue:
        top = self.value(s.args[0], index)
        if (s.args[0], index) not in self.running:
            return self.op("sub", self.number(-math.inf), top, hint="change")
        return self.op("sub", TileValue(old_value.old(top.name), top.units, LOOP), top, hint="change")

    def rms_norm(self, s: BlockStep, index: Index) -> TileValue:
        x = self.value(s.args[0], index)
        axes = self.dims[s.args[0]]
        sums, counts = [], []
        first = len(axes) - s.attr("dims", 1)
        if any(len(self.either(d)) > 1 for d in axes[first:-1]):
            raise self.mistake("rms_norm over a concat and more dims")
        for k in self.either(axes[-1]):
            over = self.bind((*(u for d in axes[first:-1] for u in d), *k), index[:first])
            split = len(over) - len(k)
            rows, at = list(over[:split]), []
            for d in axes[first:-1]:
                at.append(tuple(rows[: len(d)]))
                del rows[: len(d)]
            y = self.value(s.args[0], (*index[:first], *at, over[split:]))
            sums.append(self.total(self.op("mul", y, y, hint="square"), over))
            counts.append(self.size(over))
        mean = self.op("div", self.added(sums), self.added(counts), hint="mean")
        return self.op("mul", x, self.op("rsqrt", mean, hint="r"), hint="n")

    # ---- accumulators
    def accumulate(self, i: int, s: BlockStep, index: Index) -> TileValue:
        form, last = ACCUMULATORS[s.attr("acc")], len(s.shape) - 1
        if form.largest:
            return self.largest(s, index)
        over = self.folds[i][0] if form.fold else ()
        x = self.reduce(i, s.args[0], last, index, form.square) if form.fold else self.value(s.args[0], index)
        x = self.over_loop(s, form, x, index)
        if form.mean:
            count = self.added([self.size((*self.loop, *k)) for k in self.either(over)])
            x = self.op("div", x, count, hint="mean")
        return self.op("sqrt", x, hint="root") if form.root else x

    def over_loop(self, s: BlockStep, form: Accumulator, x: TileValue, index: Index) -> TileValue:
        if not self.loop:
            return x
        if x.where == BEFORE:
            if form.rescaled:
                raise self.mistake("a rescaled accumulator of what is the same in each iteration")
            return self.op("mul", x, self.size(self.loop), hint="v")
        update: tuple[tuple[str, str], ...] = ()
        if form.rescaled:
            update = ((self.value(s.args[1], index).name, ""),)
        arg = self.total(x, self.loop) if self.loop[0] in x.units else x
        key = ("acc", arg.name, update)
        if key not in self.made:
            name = self.name("acc")
            self.out.statements[LOOP].append(Accumulate(name, "sum", arg.name, tuple(map(unit, arg.units)), update))
            self.made[key] = TileValue(name, arg.units, AFTER)
        return self.made[key]

    def largest(self, s: BlockStep, index: Index) -> TileValue:
        x = self.value(s.args[0], index)
        if not self.loop or x.where == BEFORE:
            return x
        if x.name in self.running.values():
            return TileValue(x.name, x.units, AFTER)
        for u in self.loop:
            x = self.op("max", x, units=[v for v in x.units if v != u], hint="top", dim=unit(u))
        name = self.name("m")
        self.out.statements[LOOP].append(Accumulate(name, "max", x.name, tuple(map(unit, x.units))))
        return TileValue(name, x.units, AFTER)

    # ---- outputs
    def store(self, i: int, s: BlockStep) -> None:
        self.now = self.tb.steps.index(s)
        alternatives: list[tuple[Index, tuple[int, ...]]] = [((), ())]
        for d, n in enumerate(s.shape):
            leaves = self.dims[s.args[0]][d] if n > 1 else ()
            more = []
            for index, offsets in alternatives:
                begin = 0
                for part in self.either(leaves):
                    more.append(((*index, self.bind(part, index)), (*offsets, begin)))
                    begin += math.prod(self.sizes(part))
                if len(self.either(leaves)) > 1 and (d in s.attr("map") or d == s.attr("loop")):
                    raise self.mistake("a concat along a dim that the output's map cuts", "cut another dim")
            alternatives = more
        for index, offsets in alternatives:
            self.store_part(i, s, index, offsets)

    def store_part(self, i: int, s: BlockStep, index: Index, offsets: tuple[int, ...]) -> None:
        x, full = self.value(s.args[0], index), self.full(s, index)
        for u in (u for e in full for u in e if u not in x.units):
            x = self.op("mul", x, self.op("mask", units=[u], hint="every", dim=unit(u)), hint="v")
        where = LOOP if set(self.loop) & set(x.units) else AFTER
        entries = tuple(DimIndex(tuple(map(unit, e)), o) for e, o in zip(full, offsets, strict=True))
        self.out.statements[where].append(Store(self.writes[i], x.name, entries))
        self.out.outputs.append((i, full))
