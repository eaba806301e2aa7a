"""The denotation of a µGraph with its sizes erased: each output as a term, and the laws that its carried accumulators need.

Tiles, masks and grids vanish; loops become sums over whole axes; a split axis becomes a pair (part, rest). A carried
accumulator (the shifted tuple) means its body at the final value of its atoms, *if* its update law holds: the body at a
new value equals the sum of coefficient times sibling body at the old one. Old and new value are free tensors in that
obligation, so it is verified for every tile and every shift, not for running maxima alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as dc_replace
from fractions import Fraction
from typing import Literal

from mirage.ir.index import DimIndex
from mirage.meaning.axis_split import split_axis
from mirage.meaning.reserved_names import Tag, rest_of, running
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    LibraryKernel,
    Load,
    Loop,
    MuGraph,
    Store,
    ThreadGraph,
)
from mirage.mugraph.old_value import bare, is_old
from mirage.mugraph.rename import Renaming, rename
from mirage.mugraph.walk import computes
from mirage.operators.block_operators import BLOCK


class NotDenoted(Exception):
    """The µGraph has no term by these rules (it may still be right: other opinions decide)."""


@dataclass(frozen=True)
class Obligation:
    """Two terms that must be equal for a carried accumulator to mean its body."""

    accumulator: str
    left: int
    right: int


@dataclass
class Denoted:
    """`outputs`: tensor -> (term, axes of its dims). `splits`: axis -> (part axis, rest axis)."""

    outputs: dict[str, tuple[int, tuple[tuple[str, ...], ...]]] = field(default_factory=dict)
    obligations: list[Obligation] = field(default_factory=list)
    splits: dict[str, tuple[str, str]] = field(default_factory=dict)


class Denoter:
    """Denotes one µGraph into an arena."""

    def __init__(self, t: Terms, mugraph: MuGraph) -> None:
        self.t, self.g = t, mugraph
        self.out = Denoted()
        self.stored: dict[str, tuple[int, tuple[tuple[str, ...], ...]]] = {}
        self.runs: list[Run] = []  # of each block and tail, in order

    def run(self) -> Denoted:
        for k in self.g.kernels:
            if not isinstance(k, CustomKernel):
                self.stored[k.out] = self.library(k)
                continue
            self.block(k.block)
            if k.tail is not None:
                self.block(k.tail)
        for tensor in self.g.outputs:
            if tensor.name not in self.stored:
                raise NotDenoted(f"{tensor.name} is not written")
            term, dims = self.stored[tensor.name]
            for axis, (part, rest) in self.out.splits.items():
                term = split_axis(self.t, term, axis, part, rest)
            self.out.outputs[tensor.name] = term, dims
        return self.out

    def given(self, name: str) -> tuple[int, tuple[tuple[str, ...], ...]]:
        """A device tensor's term and the axes of its dims."""
        if name in self.stored:
            return self.stored[name]
        x = self.g.tensor(name)
        if x.kind != "input" or any(n is not None for n in x.rigid):
            raise NotDenoted(f"{name} is read before it is written, or in part")
        if len({a for d in x.dims for a in d}) < sum(map(len, x.dims)):
            raise NotDenoted(f"two dims of {name} are one axis")
        return self.t.input(name, tuple(DimIndex(d) for d in x.dims), boolean=x.dtype == "bool"), x.dims

    def library(self, k: LibraryKernel) -> tuple[int, tuple[tuple[str, ...], ...]]:
        """A matrix product: x @ w, batched or not, or x @ w.T, to which a vector may be added. Others have no term here."""
        if k.op not in ("matmul", "linear") or len(k.args) not in ((2, 3) if k.op == "linear" else (2,)):
            raise NotDenoted(f"the library kernel {k.op}")
        t = self.t
        (x, left), (w, right) = map(self.given, k.args[:2])
        right = right[::-1] if k.op == "linear" else right
        if len(left) < 2 or len(right) not in (2, len(left)):
            raise NotDenoted("a product of vectors, or of batches that are broadcast")
        batch = len(right) - 2
        names: dict[str, str] = {}
        for have, want in zip((*right[:batch], right[-2]), (*left[:batch], left[-1]), strict=True):
            if len(have) != len(want):
                raise NotDenoted("dims that meet are cut differently")
            names |= {a: b for a, b in zip(have, want, strict=True) if a != b}
        bound = {t.reduction(r).axis for r in t.closure(w)}
        if {a for d in left for a in d} & set(right[-1]) or set(names.values()) & (bound | t.dims(w)):
            raise NotDenoted("an axis would be captured")
        out = t.mul(x, t.rename(w, names) if names else w)
        for axis in reversed(left[-1]):
            out = t.sum(axis, out)
        for bias in k.args[2:]:
            out = t.add(out, self.along(bias, right[-1]))
        return out, (*left[:-1], right[-1])

    def along(self, name: str, axes: tuple[str, ...]) -> int:
        """A vector's term along these axes."""
        vector, dims = self.given(name)
        if len(dims) != 1 or len(dims[0]) != len(axes):
            raise NotDenoted(f"{name} is no vector that lies along the product's last dim")
        names = {a: b for a, b in zip(dims[0], axes, strict=True) if a != b}
        if {self.t.reduction(r).axis for r in self.t.closure(vector)} & set(names.values()):
            raise NotDenoted("an axis would be captured")
        return self.t.rename(vector, names) if names else vector

    def block(self, block: BlockGraph) -> None:
        loops = {d.name: d for d in block.dims}
        split: dict[str, tuple[str, str]] = {}
        for d in block.dims:
            if d.role == "split":
                (axis,) = loops[d.splits].axes
                pair = (d.name, rest_of(axis))
                if self.out.splits.setdefault(axis, pair) != pair:
                    raise NotDenoted(f"axis {axis} is split in two ways")
                split[axis] = pair
        run = Run(self, block, split)
        run.statements(block.body)
        self.runs.append(run)


class Run:
    """One block: names to terms, and how each value depends on the loop that it is in."""

    def __init__(self, owner: Denoter, block: BlockGraph, split: dict[str, tuple[str, str]]) -> None:
        self.owner, self.t, self.b, self.split = owner, owner.t, block, split
        self.env: dict[str, int] = {}
        self.running: dict[str, str] = {}  # values of this loop that change while it runs: "plain" or "carried"
        self.starts: dict[str, int] = {}  # accumulators that go on from an earlier loop's: what that one is
        self.linear: dict[str, str] = {}  # "sum"/"max": linear in a tile's partial reduction; absent: not

    def axis(self, dim: str) -> tuple[str, ...]:
        """The axes of a tile dim after splits."""
        d = self.b.dim(dim)
        return tuple(b for a in d.axes for b in self.split.get(a, (a,)))

    def moving(self, loop: str) -> tuple[str, ...]:
        """The axes that a loop runs over: of a split one, the rest (the part is this block's)."""
        return tuple(a for b in self.b.dim(loop).axes for a in (self.split[b][1:] if b in self.split else (b,)))

    def statements(self, body: Iterable[object], loop: str | None = None) -> None:
        for s in body:
            if isinstance(s, Loop):
                self.loop(s)
            else:
                self.statement(s, loop)

    def loop(self, s: Loop) -> None:
        carried = [x for x in s.body if isinstance(x, Accumulate) and x.update]
        self.running = {}
        for x in s.body:
            self.statement(x, s.dim)
        self.running = {}
        if carried:
            self.obligations(s, carried)
        for x in s.body:
            if isinstance(x, Accumulate) and x.start:
                self.env[x.out] = self.t.add(self.starts[x.out], self.env[x.out])
        for axis in self.moving(s.dim):
            for x in s.body:
                if isinstance(x, Accumulate) and axis in self.t.dims(self.env[x.out]):
                    raise NotDenoted(f"{x.out} keeps the loop's axis")

    def index(self, index: tuple[DimIndex, ...]) -> tuple[DimIndex, ...]:
        return tuple(dc_replace(d, axes=tuple(b for a in d.axes for b in self.split.get(a, (a,)))) for d in index)

    def load(self, s: Load) -> int:
        t, owner = self.t, self.owner
        index = self.index(s.index)
        if owner.g.tensor(s.tensor).kind == "input":
            return t.input(s.tensor, index, boolean=owner.g.tensor(s.tensor).dtype == "bool")
        if s.tensor not in owner.stored:
            raise NotDenoted(f"{s.tensor} is read before it is written")
        term, dims = owner.stored[s.tensor]
        rename: dict[str, str] = {}
        for have, want in zip(dims, s.index, strict=True):
            if len(have) != len(want.axes) or want.offset:
                raise NotDenoted("a temporary is read at another shape")
            rename |= {a: b for a, b in zip(have, want.axes, strict=True) if a != b}
        if rename:
            bound = {t.reduction(r).axis for r in t.closure(term)}
            if bound & set(rename.values()):
                raise NotDenoted("a renamed axis would be captured")
            term = t.rename(term, rename)
        for a, (part, rest) in self.split.items():
            if any(a in d.axes for d in s.index):
                term = split_axis(t, term, a, part, rest)
        return term

    def statement(self, s: object, loop: str | None) -> None:
        if isinstance(s, Load):
            self.env[s.out] = self.load(s)
        elif isinstance(s, Compute):
            self.compute(s, loop)
        elif isinstance(s, ThreadGraph):
            for c in s.body:
                self.compute(c, loop)
        elif isinstance(s, Accumulate):
            self.accumulate(s)
        elif isinstance(s, Store):
            self.store(s)

    def accumulate(self, s: Accumulate) -> None:
        if self.linear.get(s.arg) != s.op:
            raise NotDenoted(f"{s.out} does not accumulate a tile's {s.op}")
        if self.changes(s.arg) and not s.update:
            raise NotDenoted(f"{s.out} sums terms that change while it runs")
        if any(self.changes(a) == "carried" for a in (s.arg, *(c for c, _ in s.update))):
            raise NotDenoted(f"{s.out} reads a carried accumulator while it runs")
        self.env[s.out] = self.env[s.arg]
        if s.start:
            if s.update or s.op != "sum" or self.changes(s.start):
                raise NotDenoted(f"{s.out} goes on from what is no finished sum")
            self.starts[s.out] = self.env[s.start]
        self.running[s.out] = "carried" if s.update else "plain"

    def store(self, s: Store) -> None:
        if self.changes(s.tile):
            raise NotDenoted("a running value is stored")
        dims = tuple(d.axes for d in self.index(s.index))
        if any(d.offset for d in s.index):
            raise NotDenoted("a store at an offset")
        self.owner.stored[s.tensor] = self.env[s.tile], dims

    def changes(self, name: str) -> str | None:
        return self.running.get(bare(name))

    def value(self, name: str) -> int:
        return self.env[bare(name)]

    def compute(self, s: Compute, loop: str | None) -> None:
        args = [self.value(a) for a in s.args]
        changing = {self.changes(a) for a in s.args} - {None}
        if changing:
            self.running[s.out] = "carried" if "carried" in changing else "plain"
        if s.op in ("sum", "max", "dot"):
            self.env[s.out] = self.reduced(s, args, loop)
            return
        partial = [a for a in s.args if self.linear.get(a)]
        if partial:
            self.linear[s.out] = self.linear_in(s, partial, loop)
        self.env[s.out] = self.apply(s, args)

    def reduced(self, s: Compute, args: list[int], loop: str | None) -> int:
        t = self.t
        reduce = t.max if s.op == "max" else t.sum
        body = t.mul(*args)
        out = body
        for axis in reversed(self.axis(s.attr("dim"))):
            if s.op != "max" and axis not in t.dims(out):
                raise NotDenoted("a sum over an axis that its argument lacks")
            out = reduce(axis, out)
        if s.attr("dim") == loop:
            self.linear[s.out] = "max" if s.op == "max" else "sum"
            # within one block's share: the sum over the parts is the combining kernel's
            part = self.split.get(self.b.dim(loop).axes[0])
            return out if part is None else reduce(part[1], body)
        if partial := [a for a in s.args if a in self.linear]:
            if len(partial) > 1 or self.linear[partial[0]] != "sum" or s.op == "max":
                raise NotDenoted("a reduction of a partial sum")
            # a sum over another axis commutes with the loop's, if nothing else in it varies along the loop
            self.along_loop_alone(s, partial, loop)
            self.linear[s.out] = "sum"
        return out

    def along_loop_alone(self, s: Compute, partial: Sequence[str], loop: str | None) -> None:
        """Raises NotDenoted where an argument that is no partial sum varies along the loop."""
        moving = set(self.moving(loop)) if loop else set()
        if any(moving & self.t.dims(self.value(a)) for a in s.args if a not in partial):
            raise NotDenoted("a partial sum times a value along the loop")

    def linear_in(self, s: Compute, partial: list[str], loop: str | None) -> Literal["sum"]:
        """A pointwise operator on partial sums is one itself where it is linear in them."""
        how = BLOCK[s.op].partial.get("sum")
        taken = {"all": list(s.args), "one": partial[:1], "first": [s.args[0]]}
        if how is None or partial != taken[how] or any(self.linear[a] != "sum" for a in partial):
            raise NotDenoted(f"{s.op} of a partial reduction")
        self.along_loop_alone(s, partial, loop)
        return "sum"

    def apply(self, s: Compute, args: list[int]) -> int:
        t = self.t
        if s.op == "const":
            text = s.attr("value")
            if text == "-inf":
                return t.neg_inf()
            return t.opaque(text[1:]) if text.startswith("~") else t.const(Fraction(text))
        if s.op == "size":
            out = t.const(1)
            for a in self.split.get(s.attr("axis"), (s.attr("axis"),)):
                out = t.mul(out, t.size(a))
            return out
        if s.op == "index":
            return t.index(self.split.get(s.attr("axis"), (s.attr("axis"),)))
        if s.op == "mask":
            return t.const(1)
        return BLOCK[s.op].as_term(t, *args)

    def obligations(self, s: Loop, carried: list[Accumulate]) -> None:
        """The update laws, with the running values of the plain accumulators as free tensors."""
        t = self.t
        plain = [x for x in s.body if isinstance(x, Accumulate) and not x.update]

        def again(tag: Tag) -> dict[str, int]:
            inner = Run(self.owner, self.b, self.split)
            inner.env = dict(self.env)
            inner.linear = dict(self.linear)
            free = {x.out: self.free(x, tag) for x in plain}
            old = {x.out: self.free(x, "old") for x in plain}
            inner.env.update(free)
            for x in s.body:
                if isinstance(x, Accumulate):
                    if x.out in free:
                        inner.env[x.out] = free[x.out]
                    continue
                if isinstance(x, Load):
                    continue
                for c in x.body if isinstance(x, ThreadGraph) else (x,):
                    if isinstance(c, Compute):
                        args = tuple(running(bare(a), "old") if is_old(a) else a for a in c.args)
                        inner.env.update({running(name, "old"): v for name, v in old.items()})
                        inner.linear.pop(c.out, None)
                        inner.running.clear()
                        inner.compute(dc_replace(c, args=args), s.dim)
            return inner.env

        new, before = again("new"), again("old")
        by_name = {x.out: x for x in (*plain, *carried) if x.op == "sum"}
        for x in carried:
            right = []
            for coefficient, sibling in x.update:
                source = by_name.get(sibling or x.out)
                if source is None:
                    raise NotDenoted(f"{x.out} is updated by {sibling}, which is no sum of this loop")
                right.append(t.mul(new[coefficient], before[source.arg]))
            self.owner.out.obligations.append(Obligation(x.out, new[x.arg], t.add(*right)))

    def free(self, x: Accumulate, tag: Tag) -> int:
        axes = tuple(sorted(self.t.dims(self.env[x.out])))
        return self.t.input(running(x.out, tag), tuple(DimIndex((a,)) for a in axes))


def _other_names(blocks: Sequence[BlockGraph]) -> dict[str, str]:
    """Names of splits -> the first one's name of the same axis."""
    first: dict[str, str] = {}
    same: dict[str, str] = {}
    for b in blocks:
        for d in b.dims:
            if d.role == "split":
                (axis,) = b.dim(d.splits).axes
                if first.setdefault(axis, d.name) != d.name:
                    same[d.name] = first[axis]
    return same


def _axes_read(b: BlockGraph) -> set[object]:
    """The axes whose sizes or indices are values in a block."""
    flat = [x for s in b.body for x in (s.body if isinstance(s, Loop) else (s,))]
    return {v for s in flat for c in computes(s) for key, v in c.attrs if key == "axis"}


def one_split_an_axis(m: MuGraph) -> MuGraph:
    """Kernels that each split an axis into parts of their own, with one name for the parts.

    A sum over all parts is the sum over the axis, however many there are, so the name of a part means nothing where it is
    bound. It would where a number of parts is read as a value or two partitions meet in one block: then nothing is renamed."""
    blocks = [b for k in m.kernels if isinstance(k, CustomKernel) for b in (k.block, k.tail) if b is not None]
    same = _other_names(blocks)
    either = set(same) | set(same.values())
    if not same or any(_axes_read(b) & either for b in blocks):
        return m
    if any({p, q} <= {d.name for d in b.dims} for b in blocks for p, q in same.items()):
        return m

    def name(x: str) -> str:
        return same.get(x, x)

    def unchanged(x: str) -> str:
        return x

    return rename(m, Renaming(name, unchanged, unchanged, name, unchanged))


def denote(t: Terms, mugraph: MuGraph) -> Denoted:
    """Raises NotDenoted, for names and operands that do not fit too."""
    try:
        return Denoter(t, one_split_an_axis(mugraph)).run()
    except (KeyError, IndexError, StopIteration, TypeError, ValueError) as e:
        raise NotDenoted(f"the µGraph is malformed: {type(e).__name__}: {e}") from e


def same_axes(t: Terms, term: int, dims: tuple[tuple[str, ...], ...], target: tuple[tuple[str, ...], ...]) -> int:
    """`term` with its output axes renamed to the target's."""
    mapping: dict[str, str] = {}
    for have, want in zip(dims, target, strict=True):
        if len(have) != len(want):
            raise NotDenoted("the output's dims are cut differently")
        mapping |= {a: b for a, b in zip(have, want, strict=True) if a != b}
    return t.rename(term, mapping) if mapping else term
