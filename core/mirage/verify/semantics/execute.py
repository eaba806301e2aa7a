"""A µGraph run on its real schedule: block by block, tile by tile, with padding, masks, splits, accumulators and tails.

The arithmetic is a parameter: a `Field` (many draws at once, on the leading axis) or `Floats`. Every element of a tensor
must be written before it is read, and exactly once; what breaks that is recorded in the outcome.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Protocol

import numpy as np

from mirage.ir.index import DimIndex
from mirage.mugraph import old_value
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    DTensor,
    LibraryKernel,
    Load,
    Loop,
    MuGraph,
    Statement,
    Store,
    ThreadGraph,
    TileDim,
)
from mirage.mugraph.walk import PlacedBlock
from mirage.verify.semantics.arrays import Array, Indices, Selection
from mirage.verify.semantics.library_calls import run_library


class ExecutionFault(Exception):
    """A program reads or writes where it must not; internal to verification, which reports it in its evidence."""


class Arithmetic(Protocol):
    """The arithmetic that `Field` and `Floats` both offer; arrays have a leading axis of draws."""

    draws: int

    def const(self, value: Fraction | int) -> Array: ...
    def literal(self, value: float) -> Array: ...
    def pad(self, value: float) -> Array: ...
    def neg_inf(self) -> Array: ...
    def lift(self, x: Array) -> Array: ...
    def truth(self, x: Array) -> Array: ...
    def add(self, *xs: Array) -> Array: ...
    def mul(self, *xs: Array) -> Array: ...
    def fn(self, name: str, *xs: Array) -> Array: ...
    def sum(self, x: Array, axis: int) -> Array: ...
    def max(self, x: Array, axis: int) -> Array: ...
    def random(self, shape: tuple[int, ...]) -> Array: ...


@dataclass
class RunOutcome:
    """`outputs` by tensor name, shape (draws, *shape); `faults` in words, each with a place; `writes` counts the writes
    of each element of each tensor that kernels write."""

    outputs: dict[str, Array] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    writes: dict[str, Array] = field(default_factory=dict)


@dataclass
class BlockTile:
    """A value of a block."""

    dims: tuple[str, ...]
    value: Array  # (draws or 1, one axis a dim)


Address = tuple[Indices, ...]  # of each element of a tile, along each dimension of its tensor
Env = dict[str, BlockTile]
_MANY_FAULTS = 20
EVERY: Selection = (slice(None),)  # all draws


class Machine:
    """Device memory and one run."""

    def __init__(self, graph: MuGraph, inputs: Mapping[str, Array], a: Arithmetic, free_shift: bool) -> None:
        self.graph, self.a, self.free_shift = graph, a, free_shift
        self.shifts: dict[object, Array] = {}
        self.addresses: dict[object, tuple[Address, Array]] = {}
        self.sizes = dict(graph.axes)
        self.memory: dict[str, Array] = {}
        self.outcome = RunOutcome()
        for t in graph.tensors:
            shape = graph.shape(t)
            if t.kind == "input":
                given = inputs[t.name]
                if given.shape[1:] != shape:
                    raise ExecutionFault(f"input {t.name} has shape {given.shape[1:]}, the graph says {shape}")
                self.memory[t.name] = given
            else:
                self.outcome.writes[t.name] = np.zeros(shape, np.int64)

    def fault(self, text: str) -> None:
        if len(self.outcome.faults) < _MANY_FAULTS and text not in self.outcome.faults:
            self.outcome.faults.append(text)

    def size(self, d: TileDim) -> int:
        return d.parts if d.role == "split" else math.prod(self.sizes[a] for a in d.axes)

    # ---- kernels
    def run(self) -> RunOutcome:
        for k in self.graph.kernels:
            if isinstance(k, LibraryKernel):
                self.memory[k.out] = self.library(k)
                self.outcome.writes[k.out] += 1
            else:
                self._custom(k)
        for t in self.graph.tensors:
            if t.kind != "input":
                self._cover(t, self.outcome.writes[t.name])
        for t in self.graph.outputs:
            if t.name in self.memory:
                self.outcome.outputs[t.name] = self.memory[t.name]
        return self.outcome

    def library(self, k: LibraryKernel) -> Array:
        return run_library(k, self.graph, self.memory, self.a)

    def block(self, part: PlacedBlock, place: dict[str, int]) -> RunningBlock:
        """One block of a kernel, or of its tail, at its place in the grid."""
        return RunningBlock(self, part.graph, place, part.where)

    def _cover(self, t: DTensor, count: Array) -> None:
        """A temp may stay unwritten where nothing reads it: reading is looked at where it happens."""
        for bad, word in ((count == 0, "never written"), (count > 1, "written more than once")):
            if bad.any() and (t.kind == "output" or word != "never written"):
                at = tuple(int(i) for i in np.argwhere(bad)[0])
                self.fault(f"{t.name}{list(at)} is {word} ({int(bad.sum())} elements)")

    def _custom(self, k: CustomKernel) -> None:
        grid = k.block.grid
        shared = [d for d in grid if d.role != "split"]
        splits = [d for d in grid if d.role == "split"]
        for group in self.groups(k, shared):
            for part in self.blocks(splits):
                self.block(PlacedBlock(k, "block", k.block), group | part).run()
            if k.tail is not None:  # the last block to arrive, whichever it is, finds all partial results stored
                tail = {d.name: group[d.name] for d in k.tail.grid if d.name in group}
                if set(tail) != {d.name for d in k.tail.grid}:
                    raise ExecutionFault(f"{k.name}: the tail's grid is not part of its kernel's")
                self.block(PlacedBlock(k, "tail", k.tail), tail).run()

    def groups(self, k: CustomKernel, shared: list[TileDim]) -> Iterable[dict[str, int]]:
        """The places in the grid that run, without the splits'."""
        return self.blocks(shared)

    def blocks(self, dims: list[TileDim]) -> Iterator[dict[str, int]]:
        counts = [d.parts if d.role == "split" else -(-self.size(d) // d.tile) for d in dims]
        for place in product(*(range(n) for n in counts)):
            yield {d.name: i for d, i in zip(dims, place)}


class RunningBlock:
    """One block: `place` gives each grid dim its tile."""

    def __init__(self, machine: Machine, graph: BlockGraph, place: dict[str, int], where: str) -> None:
        self.m, self.graph, self.place, self.where = machine, graph, dict(place), where
        self.a = machine.a
        self.dims = {d.name: d for d in graph.dims}
        self.owner = {a: d for d in graph.dims if d.role != "split" for a in d.axes}
        self.owner |= {d.name: d for d in graph.dims if d.role == "split"}
        self.splits = [d.name for d in graph.dims if d.role == "split"]
        self.env: Env = {}
        self.old: Env = {}
        self.container: int | None = None  # the position of the loop that runs

    def run(self) -> None:
        for position, item in enumerate(self.graph.body):
            if isinstance(item, Loop):
                self.container = position
                self.loop(item)
                self.container = None
            else:
                self._statement(item)

    # ---- coordinates
    def _coords(self, d: TileDim) -> Array:
        """The flattened index of each element of the tile along `d`."""
        return self.place.get(d.name, 0) * d.tile + np.arange(d.tile)

    def _axis(self, axis: str, dims: tuple[str, ...]) -> Array:
        """The index along `axis` of each element of a tile over `dims`; a split's own axis is a number."""
        d = self.owner.get(axis)
        if d is None:
            raise ExecutionFault(f"{self.where}: axis {axis} belongs to no dim of the block")
        if d.role == "split":
            return np.full((1,) * len(dims), self.place[d.name], np.int64)
        if d.name not in dims:
            raise ExecutionFault(f"{self.where}: axis {axis} is indexed, but the tile has no dim {d.name}")
        flat = self._coords(d)
        below = math.prod(self.m.sizes[a] for a in d.axes[d.axes.index(axis) + 1 :])
        line = flat // below
        if axis != d.axes[0]:  # the major axis keeps running in the padding, so that it shows
            line = line % self.m.sizes[axis]
        return np.asarray(line.reshape([d.tile if x == d.name else 1 for x in dims]))

    def _address(
        self, index: tuple[DimIndex, ...], dims: tuple[str, ...], shape: tuple[int, ...]
    ) -> tuple[Address, Array]:
        """(index arrays, where they are inside): every tile dim within its size, every index within the tensor. Blocks and
        iterations that are at the same place along these dims have the same."""
        place = tuple(self.place.get(d, 0) for d in (*dims, *self.splits))
        key = (self.where, index, dims, shape, place)
        if key not in self.m.addresses:
            self.m.addresses[key] = self._make_address(index, dims, shape)
        return self.m.addresses[key]

    def _make_address(
        self, index: tuple[DimIndex, ...], dims: tuple[str, ...], shape: tuple[int, ...]
    ) -> tuple[Address, Array]:
        inside: Array = np.ones(tuple(self.dims[d].tile for d in dims), bool)
        for d in dims:
            dim = self.dims[d]
            keep = self._coords(dim) < self.m.size(dim)
            inside = inside & keep.reshape([dim.tile if x == d else 1 for x in dims])
        arrays = []
        for entry, n in zip(index, shape, strict=True):
            flat: Array = np.zeros((1,) * len(dims), np.int64)
            for axis in entry.axes:
                flat = flat * self.m.sizes[axis] + self._axis(axis, dims)
            flat = np.broadcast_to(flat + entry.offset, inside.shape)
            inside = inside & (flat >= 0) & (flat < n)
            arrays.append(flat)
        return tuple(np.where(inside, x, 0) for x in arrays), inside

    # ---- statements
    def _statement(self, s: Statement) -> None:
        if isinstance(s, Load):
            self._load(s)
        elif isinstance(s, Store):
            self._store(s)
        elif isinstance(s, ThreadGraph):
            inner = dict(self.env)
            for c in s.body:
                inner[c.out] = self.compute(c, inner)
            self.env[s.out] = inner[s.out]
        elif isinstance(s, Compute):
            self.env[s.out] = self.compute(s, self.env)
        else:
            self.accumulate(s)

    def _load(self, s: Load) -> None:
        tensor = self.m.graph.tensor(s.tensor)
        at, inside = self._address(s.index, s.dims, self.m.graph.shape(tensor))
        if s.tensor not in self.m.memory:
            raise ExecutionFault(f"{self.where}: {s.tensor} is read before anything is written")
        if tensor.kind != "input":
            unwritten = inside & (self.m.outcome.writes[s.tensor][at] == 0)
            if unwritten.any():
                place = [int(x[unwritten][0]) for x in at]
                self.m.fault(f"{self.where}: {s.tensor}{place} is read before it is written")
        memory = self.m.memory[s.tensor]
        value = memory[EVERY + at]
        value = np.broadcast_to(value, (value.shape[0], *inside.shape))
        if memory.dtype == bool or (memory.dtype == np.int64 and s.pad == int(s.pad)):
            self.env[s.out] = BlockTile(s.dims, np.where(inside, value, np.asarray(s.pad).astype(memory.dtype)))
        else:
            pad = self.a.lift(self.a.pad(s.pad))
            self.env[s.out] = BlockTile(
                s.dims, np.where(inside, self.a.lift(value), pad.reshape(-1, *(1,) * inside.ndim))
            )

    def _store(self, s: Store) -> None:
        if any(self.place.get(d, 0) for d in s.first):
            return  # the first block along these dims writes what all of them hold
        tensor = self.m.graph.tensor(s.tensor)
        if any(self.place[d] for d in s.first):
            return
        tile = self.tile(s.tile, self.env)
        dims = tile.dims
        for d in s.index:
            for axis in d.axes:
                owner = self.owner.get(axis)
                if owner is not None and owner.role != "split" and owner.name not in dims:
                    dims = (*dims, owner.name)
        shape = self.m.graph.shape(tensor)
        at, inside = self._address(s.index, dims, shape)
        value = self.stored(self.a.lift(self.align(tile, dims)), s)
        if s.tensor not in self.m.memory:
            self.m.memory[s.tensor] = np.zeros((self.a.draws, *shape), value.dtype)
        value = np.broadcast_to(value, (self.a.draws, *inside.shape))
        where = tuple(x[inside] for x in at)
        memory = self.m.memory[s.tensor]
        memory[EVERY + where] = value[:, inside].reshape(memory[EVERY + where].shape)  # a scalar's mask adds a dim
        np.add.at(self.m.outcome.writes[s.tensor], where, 1)

    def stored(self, value: Array, s: Store) -> Array:
        """What a store makes of a value."""
        return value

    def tile(self, name: str, env: Env) -> BlockTile:
        base, old = old_value.bare(name), old_value.is_old(name)
        return self.old[base] if old else env[name]

    def align(self, tile: BlockTile, dims: tuple[str, ...]) -> Array:
        """The tile's value over `dims`: missing ones have length one."""
        order = [d for d in dims if d in tile.dims]
        if len(order) != len(tile.dims):
            raise ExecutionFault(f"{self.where}: a tile over {tile.dims} does not fit into {dims}")
        value = np.transpose(tile.value, [0, *(1 + tile.dims.index(d) for d in order)]) if tile.dims else tile.value
        lengths = iter(value.shape[1:])
        return value.reshape(value.shape[0], *(next(lengths) if d in tile.dims else 1 for d in dims))

    def compute(self, c: Compute, env: Env) -> BlockTile:
        a = self.a
        if c.op in _LEAVES:
            return BlockTile(c.dims, self.leaf(c))
        args = [self.tile(x, env) for x in c.args]
        if c.op in ("sum", "max", "dot"):
            d = c.attr("dim")
            wide = (*c.dims, d)
            parts = [self.align(x, wide) for x in args]
            value = a.mul(*(a.lift(p) for p in parts)) if c.op == "dot" else parts[0]
            if value.shape[-1] != self.dims[d].tile:  # the tile does not vary along the dim that is reduced
                value = np.broadcast_to(value, (*value.shape[:-1], self.dims[d].tile))
            return BlockTile(c.dims, a.max(value, value.ndim - 1) if c.op == "max" else a.sum(value, value.ndim - 1))
        parts = [self.align(x, c.dims) for x in args]
        return BlockTile(c.dims, a.fn(c.op, *parts))

    def leaf(self, c: Compute) -> Array:
        a = self.a
        ones = (1,) * len(c.dims)
        if c.op == "const":
            return constant(a, c.attr("value")).reshape(-1, *ones)
        if c.op == "size":
            return a.const(self.m.sizes[c.attr("axis")]).reshape(-1, *ones)
        if c.op == "index":
            return np.asarray(self._axis(c.attr("axis"), c.dims)[None])
        d = self.dims[c.attr("dim")]
        keep = self._coords(d) < self.m.size(d)
        return np.asarray(keep.reshape([1, *(d.tile if x == d.name else 1 for x in c.dims)]))

    # ---- loops
    def loop(self, loop: Loop) -> None:
        d = self.dims[loop.dim]
        count = -(-self.m.size(d) // d.tile)
        first, last = 0, count
        for split in self.graph.dims:
            if split.role == "split" and split.splits == loop.dim:
                share = -(-count // split.parts)
                first = min(self.place[split.name] * share, count)
                last = min(first + share, count)
        outer = dict(self.env)
        accumulators = [s for s in loop.body if isinstance(s, Accumulate)]
        carried: Env = {}
        for s in accumulators:
            start = self.a.const(0) if s.op == "sum" else self.a.neg_inf()
            shape = (1, *(self.dims[x].tile for x in s.dims))
            carried[s.out] = BlockTile(s.dims, np.broadcast_to(start.reshape(-1, *(1,) * len(s.dims)), shape))
            if s.start:
                carried[s.out] = BlockTile(s.dims, self.a.lift(self.align(self.tile(s.start, self.env), s.dims)))
        for i in range(first, last):
            self.place[loop.dim] = i
            self.old = carried
            self.env = outer | carried
            for statement in loop.body:
                self._statement(statement)
            carried = {s.out: self.env[s.out] for s in accumulators}
        self.place.pop(loop.dim, None)
        self.env, self.old = outer | carried, {}

    def accumulate(self, s: Accumulate) -> None:
        a = self.a
        new = a.lift(self.align(self.tile(s.arg, self.env), s.dims))
        if not s.update:
            before = a.lift(self.align(self.old[s.out], s.dims))
            value = a.add(before, new) if s.op == "sum" else a.fn("maximum", before, new)
        else:
            value = new
            for coefficient, name in s.update:
                before = self.align(self.old[name or s.out], s.dims)
                scale = self.align(self.tile(coefficient, self.env), s.dims)
                moved = a.mul(scale, before)
                value = a.add(a.lift(moved), value) if s.op == "sum" else a.fn("maximum", a.lift(moved), value)
        if s.op == "max" and self.m.free_shift:
            shape = tuple(np.broadcast_shapes(value.shape[1:], tuple(self.dims[d].tile for d in s.dims)))
            # blocks along a grid dim that the maximum does not have hold the same one, so they share the free value
            own = (n for n in self.place if n in s.dims or self.dims[n].role in ("loop", "split"))
            key = (self.where, s.out, *((n, self.place[n]) for n in sorted(own)))
            value = self.m.shifts.setdefault(key, a.random(shape))
        self.env[s.out] = BlockTile(s.dims, value)


_LEAVES = ("const", "size", "index", "mask")


def constant(a: Arithmetic, text: str) -> Array:
    """The value of a const's attribute: a fraction, "-inf", or "~0.3" (a float that no fraction fits)."""
    if text == "-inf":
        return a.neg_inf()
    if text.startswith("~"):
        return a.literal(float(text[1:]))
    return a.const(Fraction(text))


def evaluate_mugraph(
    graph: MuGraph,
    inputs: Mapping[str, Array],
    arithmetic: Arithmetic,
    *,
    free_shift: bool = False,
    machine: Callable[..., Machine] = Machine,
) -> RunOutcome:
    """Runs a µGraph at its own sizes. `inputs`: by tensor name, (draws or 1, *shape). With `free_shift`, each running
    maximum of each tile and split is an independent random value: what stays equal does not depend on the shift.
    Raises Fault where it cannot run at all."""
    try:
        return machine(graph, inputs, arithmetic, free_shift).run()
    except (
        KeyError,
        ValueError,
        IndexError,
        TypeError,
    ) as e:  # names, ranks, operands that do not fit: it is malformed
        raise ExecutionFault(f"the µGraph is malformed: {type(e).__name__}: {e}") from e
