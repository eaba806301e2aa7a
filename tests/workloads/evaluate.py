"""Runs a µGraph tile by tile in float64, as its blocks would: the plainest statement of what the grammar means.

Padding is real here: tiles reach beyond their dims, loads fill with their pad, stores drop what is outside. Temps and
outputs begin as NaN, so an element that is never written shows.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import erf
from typing import Any

import numpy as np

from mirage.ir.index import DimIndex
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    LibraryKernel,
    Load,
    Loop,
    MuGraph,
    Statement,
    Store,
    ThreadGraph,
    TileDim,
)

Array = Any
POINTWISE: dict[str, Any] = {
    "sub": np.subtract, "div": np.divide, "neg": np.negative, "inv": lambda x: 1 / x, "exp": np.exp, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "log": np.log,
    "erf": np.vectorize(erf), "tanh": np.tanh, "abs": np.abs, "sin": np.sin, "cos": np.cos, "maximum": np.maximum,
    "minimum": np.minimum, "where": lambda c, a, b: np.where(c != 0, a, b), "lt": lambda a, b: (a < b) * 1.0,
    "le": lambda a, b: (a <= b) * 1.0, "eq": lambda a, b: (a == b) * 1.0,
    "finite": lambda x: np.where(np.isneginf(x), 0.0, x),
}  # fmt: skip
FLAGS = {"mask", "lt", "le", "eq"}


class Block:
    """One block at its place in the grid. Tiles are arrays with one numpy axis for each non-split dim of the block."""

    def __init__(self, m: MuGraph, graph: BlockGraph, memory: dict[str, Array], place: dict[str, int]) -> None:
        self.m, self.graph, self.memory, self.place = m, graph, memory, place
        self.order = [d for d in graph.dims if d.role != "split"]
        self.env: dict[str, Array] = {}
        self.flags: set[str] = set()

    def spread(self, values: Array, name: str) -> Array:
        """A vector along one dim, shaped to broadcast."""
        return values.reshape([-1 if d.name == name else 1 for d in self.order])

    def flat(self, d: TileDim) -> Array:
        """The global flattened indices of this block's tile along a dim."""
        return self.place.get(d.name, 0) * d.tile + np.arange(d.tile)

    def size(self, d: TileDim) -> int:
        return int(np.prod([self.m.size(a) for a in d.axes]))

    def inside(self, d: TileDim) -> Array:
        return self.spread(self.flat(d) < self.size(d), d.name)

    def axis(self, a: str) -> Array:
        """The index along an axis at every place of the tile."""
        d = next(d for d in self.graph.dims if a in d.axes)
        if d.role == "split":
            return np.asarray(self.place[d.name])
        below = int(np.prod([self.m.size(b) for b in d.axes[d.axes.index(a) + 1 :]]))
        return self.spread(self.flat(d) // below % self.m.size(a), d.name)

    def where(self, index: tuple[DimIndex, ...], shape: tuple[int, ...]) -> tuple[list[Array], Array]:
        """Indices into a tensor, clipped, and whether each place is inside dims and tensor."""
        entries, ok = [], np.asarray(True)
        for entry, n in zip(index, shape, strict=True):
            total: Array = np.asarray(0)
            for a in entry.axes:
                total = total * self.m.size(a) + self.axis(a)
                d = next(d for d in self.graph.dims if a in d.axes)
                if d.role != "split":
                    ok = ok & self.inside(d)
            total = total + entry.offset
            ok = ok & (total >= 0) & (total < n)
            entries.append(np.clip(total, 0, n - 1))
        return entries, ok

    def load(self, s: Load) -> None:
        data = self.memory[s.tensor]
        entries, ok = self.where(s.index, data.shape)
        got = data[tuple(np.broadcast_arrays(*entries))] if entries else data
        got = np.where(ok, got, s.pad)
        self.env[s.out] = got.reshape(got.shape if got.ndim == len(self.order) else [1] * len(self.order))

    def store(self, s: Store) -> None:
        if any(self.place[d] for d in s.first):
            return
        data = self.memory[s.tensor]
        entries, ok = self.where(s.index, data.shape)
        arrays = np.broadcast_arrays(*entries, ok, self.env[s.tile])
        keep = arrays[-2]
        place = tuple(e[keep] for e in arrays[: len(entries)])
        assert np.isnan(data[place]).all(), f"{s.tensor} is written twice"
        data[place] = arrays[-1][keep]

    def compute(self, c: Compute) -> None:
        args = [self.env[a] for a in c.args]
        ones = [1] * len(self.order)
        if c.op in ("sum", "max", "dot"):
            axis = [d.name for d in self.order].index(c.attr("dim"))
            body = args[0] * args[1] if c.op == "dot" else args[0]
            assert body.shape[axis] == self.order[axis].tile
            out = body.max(axis=axis, keepdims=True) if c.op == "max" else body.sum(axis=axis, keepdims=True)
        elif c.op == "mul":
            factors = [a for n, a in zip(c.args, args, strict=True) if n not in self.flags]
            out = np.asarray(1.0).reshape(ones)
            for a in factors:
                out = out * a
            for n, a in zip(c.args, args, strict=True):
                out = np.where(a == 0, 0.0, out) if n in self.flags else out
        elif c.op == "add":
            out = sum(args[1:], args[0])
        elif c.op == "const":
            v = c.attr("value")
            number = -np.inf if v == "-inf" else float(v[1:]) if v[0] == "~" else float(Fraction(v))
            out = np.asarray(number).reshape(ones)
        elif c.op == "size":
            out = np.asarray(float(self.m.size(c.attr("axis")))).reshape(ones)
        elif c.op == "index":
            out = self.axis(c.attr("axis")) * 1.0
        elif c.op == "mask":
            out = self.inside(self.graph.dim(c.attr("dim"))) * 1.0
        else:
            out = POINTWISE[c.op](*args)
        if c.op in FLAGS:
            self.flags.add(c.out)
        shape = [d.tile if d.name in c.dims else 1 for d in self.order]
        self.env[c.out] = np.broadcast_to(out, shape)

    def statement(self, s: Statement) -> None:
        if isinstance(s, Load):
            self.load(s)
        elif isinstance(s, Store):
            self.store(s)
        elif isinstance(s, ThreadGraph):
            for c in s.body:
                self.compute(c)
        elif isinstance(s, Compute):
            self.compute(s)
        else:
            old, arg = self.env[s.out + "@old"], self.env[s.arg]
            if s.op == "max":
                self.env[s.out] = np.maximum(old, arg)
            elif not s.update:
                self.env[s.out] = old + arg
            else:
                self.env[s.out] = sum((self.env[c] * self.env[(a or s.out) + "@old"] for c, a in s.update), arg)

    def loop(self, item: Loop) -> None:
        accumulators = [s for s in item.body if isinstance(s, Accumulate)]
        for s in accumulators:
            shape = [d.tile if d.name in s.dims else 1 for d in self.order]
            begin = np.full(shape, 0.0 if s.op == "sum" else -np.inf)
            self.env[s.out] = self.env[s.start] if s.start else begin
        d = self.graph.dim(item.dim)
        count = -(-self.size(d) // d.tile)
        split = next((x for x in self.graph.dims if x.splits == d.name), None)
        share = -(-count // split.parts) if split else count
        first = self.place[split.name] * share if split else 0
        for i in range(first, min(first + share, count)):
            self.place[d.name] = i
            for s in accumulators:
                self.env[s.out + "@old"] = self.env[s.out]
            for s in item.body:
                self.statement(s)
        self.place.pop(d.name, None)

    def run(self) -> None:
        for item in self.graph.body:
            if isinstance(item, Loop):
                self.loop(item)
            else:
                self.statement(item)


def evaluate(m: MuGraph, *inputs: Array) -> Array:
    """The first output of a µGraph of custom kernels on float64 inputs."""
    return evaluate_all(m, *inputs)[0]


def evaluate_all(m: MuGraph, *inputs: Array) -> list[Array]:
    memory = {t.name: np.asarray(x, dtype=np.float64) for t, x in zip(m.inputs, inputs, strict=True)}
    for t in m.tensors:
        if t.kind != "input":
            memory[t.name] = np.full(m.shape(t), np.nan)
    with np.errstate(all="ignore"):
        for k in m.kernels:
            if isinstance(k, LibraryKernel):
                x, w = (memory[a] for a in k.args)
                memory[k.out] = x @ (w if k.op == "matmul" else np.swapaxes(w, -1, -2))
                continue
            for graph in (k.block, k.tail):
                if graph is None:
                    continue
                counts = [-(-int(np.prod([m.size(a) for a in d.axes])) // d.tile) for d in graph.grid]
                for place in itertools.product(*map(range, counts)):
                    named = {d.name: i for d, i in zip(graph.grid, place, strict=True)}
                    Block(m, graph, memory, named).run()
    return [memory[x.name] for x in m.outputs]
