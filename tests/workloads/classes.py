"""The class of a µGraph: its structure with sizes, tiles, names, padding and the spelling of pointwise regions erased.

Kept: the kernels; for each which axes are parallel, resident, looped over or split; every reduction and every accumulator
with its loop and its update; what is written where. A pointwise region counts by its value over the tiles that it reads, in
a finite field: what is below a reduction or an accumulator is opaque there, so that two orders of two reductions differ.
A matrix product is a sum of products, masks are 1, and the guard of a maximum is the identity.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

from mirage.ir.index import DimIndex
from mirage.meaning.fingerprint import Fingerprints
from mirage.meaning.terms import Terms
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
)
from mirage.results.progress import CancelToken
from mirage.search.kernel_pieces import KernelSpace, Target
from workloads import brute

Class = tuple[Any, ...]


def digest(x: object) -> str:
    return hashlib.sha256(repr(x).encode()).hexdigest()[:24]


class Classes:
    """Classes that can be compared: they share one arena, and µGraphs share the names of inputs and axes."""

    def __init__(self) -> None:
        self.t = Terms()
        self.prints = Fingerprints(self.t)

    def of(self, m: MuGraph) -> Class:
        known: dict[str, str] = {}  # temporaries, by what was written there
        kernels: list[Any] = []
        for k in m.kernels:
            if isinstance(k, LibraryKernel):
                call = (k.op, tuple(known.get(a, a) for a in k.args), k.attrs)
                known[k.out] = digest(call)
                kernels.append(call)
                continue
            blocks = [_Block(self, graph, known) for graph in (k.block, k.tail) if graph is not None]
            kernels.append(tuple(b.run() for b in blocks))
        return tuple(kernels)

    def opaque(self, key: object, like: frozenset[str]) -> int:
        """A tile of which only its identity counts, along the axes `like`."""
        return self.t.input(digest(key), tuple(DimIndex((a,)) for a in sorted(like)))

    def reduced(self, op: str, axes: tuple[str, ...], body: int) -> int:
        """A reduction within a tile; factors that do not vary along it are outside."""
        t = self.t
        inside, outside = [body], []
        if op == "sum" and t.kind(body) == "mul":
            outside = [f for f in t.kids(body) if not t.dims(f) & set(axes)]
            inside = [f for f in t.kids(body) if f not in outside]
        term = t.mul(*inside)
        if op == "sum" and not t.dims(term) & set(axes):
            return t.mul(*outside, term, *(t.size(a) for a in axes))
        return t.mul(*outside, self.opaque((op, axes, self.prints.of(term)), t.dims(term) - set(axes)))


class _Block:
    def __init__(self, classes: Classes, graph: BlockGraph, known: dict[str, str]) -> None:
        self.c, self.t, self.graph, self.known = classes, classes.t, graph, known
        self.axes = {d.name: d.axes for d in graph.dims}
        self.env: dict[str, int] = {}
        self.stores: list[Any] = []
        self.keys: dict[str, tuple[object, frozenset[str]]] = {}  # accumulators of the loop at hand

    def run(self) -> Class:
        for i, item in enumerate(x for x in self.graph.body):
            if isinstance(item, Loop):
                self.loop(i, item)
            else:
                self.statement(item, None)
        written = {a for s in self.statements() if isinstance(s, Store) for d in s.index for a in d.axes}
        roles = set()
        for d in self.graph.dims:
            for a in d.axes if d.role != "split" else self.axes[d.splits]:
                whole = d.role == "resident" and a in written
                roles.add((a, "parallel" if d.role == "grid" or whole else d.role))
        return frozenset(roles), frozenset(self.stores)

    def statements(self) -> list[Statement]:
        return [s for x in self.graph.body for s in (x.body if isinstance(x, Loop) else (x,))]

    def loop(self, place: int, loop: Loop) -> None:
        number = sum(isinstance(x, Loop) for x in self.graph.body[:place])
        self.keys = {}
        for s in loop.body:
            self.statement(s, (number, self.axes[loop.dim]))
        for name, (key, dims) in self.keys.items():
            self.env[name] = self.c.opaque(("final", key), dims)

    def statement(self, s: Statement, loop: tuple[int, tuple[str, ...]] | None) -> None:
        if isinstance(s, Load):
            self.env[s.out] = self.t.input(self.known.get(s.tensor, s.tensor), s.index)
        elif isinstance(s, ThreadGraph):
            for c in s.body:
                self.env[c.out] = self.compute(c)
        elif isinstance(s, Compute):
            self.env[s.out] = self.compute(s)
        elif isinstance(s, Accumulate):
            self.accumulate(s, loop)
        else:
            key = digest(("stored", s.index, self.c.prints.of(self.env[s.tile])))
            self.known[s.tensor] = key
            self.stores.append((key, s.index))

    def accumulate(self, s: Accumulate, loop: tuple[int, tuple[str, ...]] | None) -> None:
        arg = self.env[s.arg]
        update = frozenset(
            (self.c.prints.of(self.value(coefficient)), digest(self.keys[acc][0]) if acc else "itself")
            for coefficient, acc in s.update
        )
        dims = frozenset().union(*(self.axes[d] for d in s.dims))
        outside: list[int] = []
        if s.op == "sum" and not update and self.t.kind(arg) == "mul":  # what the loop does not change may leave it
            outside = [f for f in self.t.kids(arg) if self.t.is_plain(f)]
            arg = self.t.mul(*(f for f in self.t.kids(arg) if f not in outside))
        key = (s.op, loop, self.c.prints.of(arg), update)
        self.keys[s.out] = key, dims
        self.env[s.out] = self.t.mul(*outside, self.c.opaque(("running", key), dims))
        self.env[s.out + "@old"] = self.t.mul(*outside, self.c.opaque(("old", key), dims))

    def value(self, name: str) -> int:
        if name.endswith("@old") and name not in self.env:
            raise KeyError(f"{name} is read before its accumulator is known")
        return self.env[name]

    def compute(self, c: Compute) -> int:
        t, op = self.t, c.op
        if op == "mask":
            return t.const(1)
        if op == "const":
            text = c.attr("value")
            return (
                t.literal(float(text.removeprefix("~")))
                if text[0] == "~" or text == "-inf"
                else t.const(Fraction(text))
            )
        if op == "size":
            return t.size(c.attr("axis"))
        if op == "index":
            return t.index((c.attr("axis"),))
        args = [self.value(a) for a in c.args]
        if op in ("sum", "max", "dot"):
            body = t.mul(*args) if op == "dot" else args[0]
            return self.c.reduced("max" if op == "max" else "sum", self.axes[c.attr("dim")], body)
        return pointwise(t, op, args)


def pointwise(t: Terms, op: str, args: list[int]) -> int:
    """A pointwise operator of a block as a term."""
    if op == "add":
        return t.add(*args)
    if op == "mul":
        return t.mul(*args)
    if op == "sub":
        return t.sub(args[0], args[1])
    if op == "neg":
        return t.neg(args[0])
    if op == "div":
        return t.mul(args[0], t.inv(args[1]))
    if op == "rsqrt":
        return t.inv(t.sqrt(args[0]))
    if op == "finite":
        return args[0]
    if op in ("inv", "exp", "sqrt"):
        return int(getattr(t, op)(args[0]))
    return t.fn(op, *args)


def found_by_search(program: brute.Small) -> dict[brute.Class, set[str | None]]:
    """The classes of one kernel that the search has for a small program, each with the axes that it may stream."""
    t = Terms({"m": 64, "k": 256, "n": 128, "r": 16})
    y = program.term(t)
    axes, memo = dict(program.inputs), {}
    dims = tuple((a,) for a in brute.AXES if a in t.dims(y))
    space = KernelSpace(t, Target("O", y, dims, "fp16"), CancelToken(), lean=False, limit=4000)
    found: dict[brute.Class, set[str | None]] = {}
    for s in space.structures():
        nodes = [t.reduction(r) for r in s.system.reductions]
        if any(n.changes for n in nodes):
            continue  # carried: no program of operators
        key = frozenset(brute.reduction(n.op, n.axis, brute.of_term(t, n.body, axes, memo)) for n in nodes)
        found.setdefault(key, set()).add(s.streamed)
    return found
