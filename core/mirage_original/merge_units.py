"""From units to tile dims: a grid or loop part and the tile beside it are one dim where they always stand together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mirage.ir.index import DimIndex
from mirage.mugraph import old_value
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    Load,
    Loop,
    MuGraph,
    Statement,
    Store,
    TileDim,
)
from mirage.mugraph.rename import Renaming, statement
from mirage.mugraph.resized import next_power
from mirage.mugraph.rules.padding import Follower
from mirage.mugraph.walk import PlacedBlock
from mirage.program.axis_classes import Leaves
from mirage_original.block_statements import AFTER, DOT, Emitted, Index, unit
from mirage_original.graph_axes import Joint

Naming = Callable[[Leaves], tuple[str, ...]]  # classes -> the names of the axes that they make up


@dataclass(frozen=True)
class Dims:
    """The tile dims of a block: its units in groups, major first. A group of two is a grid or loop part and its tile."""

    groups: tuple[tuple[int, ...], ...]

    def of(self, u: int) -> tuple[int, ...]:
        return next(g for g in self.groups if u in g)


def united(e: Emitted, joint: Joint) -> Emitted:
    """With one unit for those that have become one axis."""
    first: dict[Leaves, int] = {}
    every = [*e.grid, *(() if e.loop is None else (e.loop,))]
    every += [u for _, index in (*e.inputs, *e.outputs) for entry in index for u in entry]
    same = {u: first.setdefault(joint.resolve((u,)), u) for u in every}

    def name(x: str) -> str:
        return unit(same[int(x[1:])])

    def unchanged(x: str) -> str:
        return x

    names = Renaming(lambda x: " ".join(map(name, x.split())), unchanged, unchanged, name, unchanged)

    def indices(found: list[tuple[int, Index]]) -> list[tuple[int, Index]]:
        return [(i, tuple(tuple(same[u] for u in entry) for entry in index)) for i, index in found]

    before, loop, after = ([statement(names, s) for s in part] for part in e.statements)
    return replace(
        e, statements=(before, loop, after), inputs=indices(e.inputs), outputs=indices(e.outputs),
        dotted={same[u] for u in e.dotted},
    )  # fmt: skip


def joined(e: Emitted, joint: Joint, *, loops: bool) -> Dims:
    """The units of a block in groups. `loops`: the loop's too."""
    entries = [entry for _, index in (*e.inputs, *e.outputs) for entry in index]
    loop = () if e.loop is None else (e.loop,)
    every = list(dict.fromkeys((*e.grid, *loop, *(u for x in entries for u in x))))
    pairs = tile_pairs((*e.grid, *(loop if loops else ())), e, joint, entries)
    inner = set(pairs.values())
    return Dims(tuple((u, pairs[u]) if u in pairs else (u,) for u in every if u not in inner))


def tile_pairs(outer: Sequence[int], e: Emitted, joint: Joint, entries: Sequence[Sequence[int]]) -> dict[int, int]:
    """The units of the grid and of the loop that make one dim with a unit of the tile, and which unit that is."""
    reduced = {s.attr("dim") for part in e.statements for s in part if isinstance(s, Compute) and reduces(s)}
    pairs: dict[int, int] = {}
    for u in outer:
        tile = tile_of(u, e, joint, entries)
        if tile is None or tile in pairs.values():
            continue
        if keeps(e, tile) if u == e.loop else unit(tile) not in reduced:
            pairs[u] = tile
    return pairs


def tile_of(u: int, e: Emitted, joint: Joint, entries: Sequence[Sequence[int]]) -> int | None:
    """The unit that each of `u`'s blocks or passes has in its tile: it follows `u` wherever `u` stands, stands nowhere else,
    and has a size that a tile may have."""
    following = neighbors(u, entries, 1)
    tile = following.pop() if len(following) == 1 else None
    if tile is None or tile in e.grid or tile == e.loop or neighbors(tile, entries, -1) != {u}:
        return None
    n = joint.size(tile)
    return None if n & (n - 1) or (tile in e.dotted and n < DOT) else tile


def neighbors(u: int, entries: Sequence[Sequence[int]], step: int) -> set[int | None]:
    """What stands `step` places after a unit; None for an entry's end."""
    return {x[i + step] if 0 <= i + step < len(x) else None for x in entries for i, y in enumerate(x) if y == u}


def reduces(s: Compute) -> bool:
    return s.op in ("sum", "max", "dot")


def keeps(e: Emitted, tile: int) -> bool:
    """Does a tile's dim stay inside the loop?"""
    name = unit(tile)
    after = {d for s in e.statements[AFTER] for d in getattr(s, "dims", ())}
    sums = {d for part in e.statements for s in part if isinstance(s, Accumulate) for d in s.dims}
    stored = {a for s in e.statements[AFTER] if isinstance(s, Store) for i in s.index for a in i.axes}
    before = {d for s in e.statements[0] for d in getattr(s, "dims", ())}
    return name not in after | sums | stored | before


class Renderer:
    """Renders one block with the given dims and names of axes. `orders`: of tensors that are not row-major, the dims as they
    lie in memory."""

    def __init__(
        self, e: Emitted, joint: Joint, dims: Dims, naming: Naming, orders: Mapping[str, tuple[int, ...]]
    ) -> None:
        self.e, self.joint, self.dims, self.naming, self.orders = e, joint, dims, naming, orders
        self.alias: dict[str, str] = {}
        self.known: dict[str, tuple[str, ...]] = {}  # the dims of each tile
        self.names = {unit(u): self.dim_name(g) for g in dims.groups for u in g}
        self.leaf = {unit(u): u for g in dims.groups for u in g}

    def dim_name(self, group: tuple[int, ...]) -> str:
        """The name of the axis that the dim is, or of the last one that it has."""
        return self.axes(group)[-1]

    def axes(self, units: Iterable[int]) -> tuple[str, ...]:
        return self.naming(tuple(x for u in units for x in self.joint.resolve((u,))))

    def block(self) -> BlockGraph:
        dims = tuple(self.tile_dim(g) for g in self.dims.groups)  # grid x, y and z first
        before, loop, after = ([x for s in part for x in self.statement(s)] for part in self.e.statements)
        body: list[Statement | Loop] = list(before)
        if self.e.loop is not None and loop:
            body.append(Loop(self.names[unit(self.e.loop)], tuple(loop)))
        return BlockGraph(dims, (*body, *after))

    def tile_dim(self, group: tuple[int, ...]) -> TileDim:
        first, last = group[0], group[-1]
        n = self.joint.total((last,))
        outer = first in self.e.grid or first == self.e.loop
        role = "grid" if first in self.e.grid else "loop" if first == self.e.loop else "resident"
        tile = 1 if outer and len(group) == 1 else max(next_power(n), DOT if last in self.e.dotted else 1)
        return TileDim(self.dim_name(group), self.axes(group), tile, role)  # type: ignore[arg-type]

    def statement(self, s: Statement) -> list[Statement]:
        if isinstance(s, Load):
            self.known[s.out] = self.dims_of(s.dims)
            return [Load(s.out, s.tensor, self.stored(s), self.known[s.out], s.pad, s.by)]
        if isinstance(s, Store):
            return [Store(s.tensor, self.ref(s.tile), self.stored(s))]
        if isinstance(s, Accumulate):
            self.known[s.out] = self.dims_of(s.dims)
            update = tuple((self.ref(c), a) for c, a in s.update)
            return [Accumulate(s.out, s.op, self.ref(s.arg), self.known[s.out], update)]
        assert isinstance(s, Compute)
        if s.op == "size":
            self.known[s.out] = ()
            return self.size(s)
        over = s.attr("dim") if reduces(s) else ""
        if over and self.names[over] not in self.dims_in(s):
            self.alias[s.out] = self.ref(s.args[0])  # the sum over a tile was the one over its loop's part, too
            return []
        dims = self.dims_in(s) if s.args else self.dims_of(s.dims)
        attrs = tuple((k, self.names[v] if k == "dim" else v) for k, v in s.attrs)
        self.known[s.out] = tuple(d for d in dims if not over or d != self.names[over])
        return [Compute(s.out, s.op, tuple(map(self.ref, s.args)), self.known[s.out], attrs)]

    def dims_in(self, s: Compute) -> tuple[str, ...]:
        """The dims of the arguments together."""
        names = (old_value.bare(self.ref(a)) for a in s.args)
        return tuple(dict.fromkeys(d for n in names for d in self.old(n)))

    def old(self, name: str) -> tuple[str, ...]:
        """The dims of a tile; of an accumulator before its statement those that it will have."""
        if name not in self.known:
            s = next(s for s in self.e.statements[1] if isinstance(s, Accumulate) and s.out == name)
            self.known[name] = self.dims_of(s.dims)
        return self.known[name]

    def size(self, s: Compute) -> list[Statement]:
        axes = self.axes(self.leaf[u] for u in s.attr("axis").split())
        if not axes:
            return [Compute(s.out, "const", (), (), (("value", "1"),))]
        if len(axes) == 1:
            return [Compute(s.out, "size", (), (), (("axis", axes[0]),))]
        names = [f"{s.out}_{a}" for a in axes]
        sizes = [Compute(n, "size", (), (), (("axis", a),)) for n, a in zip(names, axes, strict=True)]
        return [*sizes, Compute(s.out, "mul", tuple(names), (), ())]

    def stored(self, s: Load | Store) -> tuple[DimIndex, ...]:
        order = self.orders.get(s.tensor) or range(len(s.index))
        return tuple(self.index(s.index[d]) for d in order)

    def index(self, entry: DimIndex) -> DimIndex:
        return DimIndex(self.axes(self.leaf[u] for u in entry.axes), entry.offset)

    def dims_of(self, units: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.names[u] for u in units))

    def ref(self, name: str) -> str:
        bare = old_value.bare(name)
        while bare in self.alias:
            bare = self.alias[bare]
        return old_value.old(bare) if old_value.is_old(name) else bare


# ---- padding
def masked(m: MuGraph) -> MuGraph:
    """The µGraph with masks where the padding of a tile would reach a sum or a maximum."""
    return replace(m, kernels=tuple(_kernel(k) if isinstance(k, CustomKernel) else k for k in m.kernels))


def _kernel(k: CustomKernel) -> CustomKernel:
    done: set[tuple[str, int]] = set()
    while True:
        follower = Follower(PlacedBlock(k, "block", k.block))
        follower.run()
        wanted = {}
        for s, _ in follower.report:
            assert isinstance(s, Compute)
            at = next((i for i in range(len(s.args)) if (s.out, i) not in done), None)
            if at is not None:
                wanted[s.out] = at
        if not wanted:
            return k
        done |= set(wanted.items())
        k = replace(k, block=_masked(k.block, wanted))


def _masked(b: BlockGraph, wanted: dict[str, int]) -> BlockGraph:
    dims = {s.out: s.dims for item in b.body for s in _flat(item) if not isinstance(s, Store)}

    def guarded(s: Statement) -> list[Statement]:
        if not isinstance(s, Compute) or s.out not in wanted:
            return [s]
        at, d = wanted[s.out], s.attr("dim")
        x = s.args[at]
        inside, kept = f"{s.out}_in{at or ''}", f"{s.out}_of{at or ''}"
        own = dims[old_value.bare(x)]
        mask = Compute(inside, "mask", (), (d,), (("dim", d),))
        args = (*s.args[:at], kept, *s.args[at + 1 :])
        if s.op != "max":
            return [mask, Compute(kept, "mul", (x, inside), own), replace(s, args=args)]
        low = Compute(f"{s.out}_low", "const", (), (), (("value", "-inf"),))
        return [mask, low, Compute(kept, "where", (inside, x, low.out), own), replace(s, args=args)]

    body: list[Statement | Loop] = []
    for item in b.body:
        if isinstance(item, Loop):
            body.append(Loop(item.dim, tuple(y for s in item.body for y in guarded(s))))
        else:
            body += guarded(item)
    return replace(b, body=tuple(body))


def _flat(item: Statement | Loop) -> tuple[Statement, ...]:
    return item.body if isinstance(item, Loop) else (item,)
