"""A µGraph's maps and masks as accesses, and the proofs of z3 about them.

They hold at its own sizes, and at all sizes where its indices are whole axes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mirage.ir.index import DimIndex
from mirage.mugraph.check import SM_90
from mirage.mugraph.grammar import CustomKernel, Load, Loop, MuGraph, Store, TileDim
from mirage.mugraph.resized import same_size
from mirage.mugraph.rules import cover
from mirage.mugraph.rules.breach import Breach
from mirage.mugraph.walk import PlacedBlock, Site, parts, sites, size_of
from mirage.verify.memory import linear_forms
from mirage.verify.memory.kernel_reader import KernelAccesses
from mirage.verify.memory.launch_values import LaunchTensor
from mirage.verify.memory.launcher_reader import Launches, LibraryCall
from mirage.verify.memory.linear_forms import Cond, LinearForm, Var
from mirage.verify.memory.z3_proofs import Access, AccessProver, Undecided

if TYPE_CHECKING:
    from z3 import BoolRef

MOST_PARTS = 64  # of a split, whose shares are told apart one by one


def accesses_of(m: MuGraph) -> Launches:
    """Every load and store of a µGraph, in the form in which an emitted module's are read off its text."""
    out = Launches(returned=tuple(t.name for t in m.outputs))
    for t in m.tensors:
        out.tensors[t.name] = LaunchTensor(t.name, m.shape(t), "input" if t.kind == "input" else "nothing")
    by_kernel: dict[str, list[PlacedBlock]] = {}
    for p in parts(m):
        by_kernel.setdefault(p.kernel.name, []).append(p)
    for k in m.kernels:
        if not isinstance(k, CustomKernel):
            out.steps.append(LibraryCall(k.name, k.args, k.out))
            continue
        step = KernelAccesses(k.name, ())
        for p in by_kernel[k.name]:
            step.accesses += [_Place(m, p, s).access() for s in sites(p) if isinstance(s.statement, Load | Store)]
        out.steps.append(step)
    return out


class _Place:
    """One load or store of a block: the index of each of its lanes."""

    def __init__(self, m: MuGraph, part: PlacedBlock, site: Site) -> None:
        self.m, self.part, self.site = m, part, site
        self.dims = {d.name: d for d in part.graph.dims}
        self.owner = {a: d for d in part.graph.dims for a in (d.axes if d.role != "split" else (d.name,))}
        self.used: dict[str, Var] = {}  # lanes and loop counters

    def tiles(self, d: TileDim) -> int:
        return d.parts if d.role == "split" else -(-size_of(self.m, d) // d.tile)

    def place(self, d: TileDim) -> LinearForm:
        """The number of the tile along a dim."""
        if d.role == "resident":
            return linear_forms.of(0)
        if d.role == "loop" and (self.site.loop is None or self.site.loop.dim != d.name):
            return linear_forms.of(0)
        v = Var(d.name, 0, self.tiles(d) - 1)
        if d.role == "loop":
            self.used[v.name] = v
        return linear_forms.of(v)

    def whole(self, d: TileDim) -> LinearForm:
        """The index along a tile dim."""
        if d.role == "split":
            return self.place(d)
        lane = Var(f"lane {d.name}", 0, d.tile - 1)
        if d.tile > 1:
            self.used[lane.name] = lane
        return linear_forms.add(linear_forms.of(lane), self.place(d), d.tile)

    def axis(self, axis: str) -> LinearForm:
        d = self.owner[axis]
        x = self.whole(d)
        if d.role == "split" or len(d.axes) == 1:
            return x
        below = math.prod(self.m.size(a) for a in d.axes[d.axes.index(axis) + 1 :])
        out = linear_forms.divide(x, below, False)
        if out is not None and axis != d.axes[0]:
            out = linear_forms.divide(out, self.m.size(axis), True)
        if out is None:
            raise Undecided("an index that may be negative")
        return out

    def access(self) -> Access:
        s = self.site.statement
        assert isinstance(s, Load | Store)
        tensor = self.m.tensor(s.tensor)
        conditions: list[Cond] = []
        names = list(s.dims) if isinstance(s, Load) else []
        names += [self.owner[a].name for e in s.index for a in e.axes if self.owner[a].role != "split"]
        for name in dict.fromkeys(names):
            d = self.dims[name]
            conditions.append(_below(self.whole(d), size_of(self.m, d)))
        offset = linear_forms.of(0)
        for entry, n in zip(s.index, self.m.shape(tensor), strict=True):
            flat = linear_forms.of(0)
            for a in entry.axes:
                flat = linear_forms.add(self.axis(a), flat, self.m.size(a))
            flat = linear_forms.add(flat, linear_forms.of(entry.offset))
            conditions += [linear_forms.at_most(linear_forms.of(0), flat), _below(flat, n)]
            offset = linear_forms.add(flat, offset, n)
        if isinstance(s, Store):
            conditions += [linear_forms.equal(self.place(self.dims[d]), linear_forms.of(0)) for d in s.first]
        conditions += self.share()
        grid = [Var(d.name, 0, self.tiles(d) - 1) for d in self.part.graph.grid]
        group = None
        if self.part.role == "tail":
            group = linear_forms.of(0)
            for v in grid:
                group = linear_forms.add(linear_forms.of(v), group, v.high + 1)
        if self.site.loop is not None:
            self.place(self.dims[self.site.loop.dim])  # an iteration writes anew, whether or not its index says so
        return Access(
            s.tensor,
            "load" if isinstance(s, Load) else "store",
            offset,
            linear_forms.both(*conditions),
            (*grid, *self.used.values()),
            self.part.where,
            group,
        )

    def share(self) -> list[Cond]:
        """The iterations of a split loop that this block has."""
        loop = self.site.loop
        if loop is None:
            return []
        d = self.dims[loop.dim]
        out = []
        for split in self.part.graph.dims:
            if split.role == "split" and split.splits == d.name:
                each = -(-self.tiles(d) // split.parts)
                first = linear_forms.scale(self.place(split), each)
                out += [
                    linear_forms.at_most(first, self.place(d)),
                    _below(self.place(d), linear_forms.add(first, linear_forms.of(each))),
                ]
        return out


def _below(x: LinearForm, limit: int | LinearForm) -> Cond:
    end = linear_forms.of(limit) if isinstance(limit, int) else limit
    return linear_forms.at_most(linear_forms.add(x, linear_forms.of(1)), end)


def whole_axes(m: MuGraph) -> bool:
    """True if all indices are whole axes of their tensors, at no offset, so that the lemmas of `any_size` are all that is to be
    shown? Each store must be the only one of its tensor and have every axis of its dims once."""
    kind = same_size(m)
    stored: set[str] = set()

    def same(have: tuple[str, ...], want: tuple[str, ...]) -> bool:
        return [kind[a] for a in have] == [kind[a] for a in want]

    for p in parts(m):
        for s in sites(p):
            x = s.statement
            if not isinstance(x, Load | Store):
                continue
            t = m.tensor(x.tensor)
            if any(r is not None for r in t.rigid) or any(e.offset for e in x.index):
                return False
            if not all(same(e.axes, d) for e, d in zip(x.index, t.dims, strict=True)):
                return False
            if isinstance(x, Store):
                if x.tensor in stored or not _every(p, s.loop, x.index, x.first):
                    return False
                stored.add(x.tensor)
    return True


def _every(p: PlacedBlock, loop: Loop | None, index: tuple[DimIndex, ...], first: tuple[str, ...]) -> bool:
    """Has the index each axis of each dim that makes several of the store: those of the grid, the loop, its own tile?"""
    axes = [a for e in index for a in e.axes]
    if len(set(axes)) != len(axes):
        return False
    for d in p.graph.dims:
        own = set(d.axes) if d.role != "split" else {d.name}
        several = d.role in ("grid", "split") and d.name not in first
        several = several or (loop is not None and d.name == loop.dim)
        shared = d.role == "split" and loop is not None and loop.dim == d.splits
        if ((several and not shared) or own & set(axes)) and not own <= set(axes):
            return False
    return True


def any_size(p: AccessProver, m: MuGraph) -> None:
    """Lemmas on symbolic sizes, asked of z3: each index along a tile dim is in exactly one tile; each tile of a split loop
    in exactly one share; an index over several axes has exactly one index along each. Who reads what whom wrote does not
    depend on sizes (the rules order and group). Raises Unknown where something of it does not hold."""
    try:
        cover.order(m, SM_90)
        cover.group(m, SM_90)
    except Breach as b:
        raise Undecided(b.message) from None
    for part in parts(m):
        for d in part.graph.dims:
            if d.role in ("grid", "loop") and d.tile > 1:
                _one_tile(p, d.tile)
            if d.role == "split":
                _one_share(p, part.graph.dim(d.splits).tile, d.parts)
            if len(d.axes) > 1 and d.role != "split":
                _one_place(p)


def _shown(p: AccessProver, *against: BoolRef) -> None:
    if p.model(*against) is not None:
        raise Undecided("a lemma on all sizes does not hold")


def _one_tile(p: AccessProver, tile: int) -> None:
    n, x, i, j, count = p.z3.Ints("n x i j count")
    size = [n >= 1, tile * count >= n, tile * count < n + tile, x >= 0, x < n]
    _shown(p, *size, tile * i <= x, x < tile * i + tile, p.z3.Or(i < 0, i >= count))
    _shown(p, *size, tile * i <= x, x < tile * i + tile, tile * j <= x, x < tile * j + tile, i != j)


def _one_share(p: AccessProver, tile: int, split: int) -> None:
    if split > MOST_PARTS:
        raise Undecided(f"{split} shares of a loop")
    n, t, count, each = p.z3.Ints("n t count each")
    size = [n >= 1, tile * count >= n, tile * count < n + tile, t >= 0, t < count]
    size += [split * each >= count, split * each < count + split]
    mine = [p.z3.And(i * each <= t, t < i * each + each) for i in range(split)]
    _shown(p, *size, p.z3.Not(p.z3.Or(*mine)))
    _shown(p, *size, p.z3.Or(*(p.z3.And(mine[i], each * (i + 1) <= t) for i in range(split))))


def _one_place(p: AccessProver) -> None:
    """x < a * b has one quotient below a and one remainder by b; more axes are that again."""
    a, b, x, q, r, u, s = p.z3.Ints("a b x q r u s")
    size = [a >= 1, b >= 1, x >= 0, x < a * b, x == q * b + r, r >= 0, r < b]
    _shown(p, *size, q >= a)
    _shown(p, *size, q < 0)
    _shown(p, *size, x == u * b + s, s >= 0, s < b, q > u)
