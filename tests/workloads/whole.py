"""Every class of µGraphs of a small program, by brute force: carried reductions, kernels, streamed axes and splits.

It starts from all programs of operators with the program's value (brute.py) and knows nothing of the search. Of each it tries

- every set of intermediate values that are kept in device memory: each is written by a kernel of its own, which reads what
  was kept before it;
- for each kernel every axis that its reductions run over as the one that is streamed, or none;
- for each reduction over that axis and each one over it that it reads whether the running value is read (carried) or the
  final one (kept: one more pass). A running value can be read where the body as a function of it has finite rank: the
  accumulators of finitely many bodies then go from one value to the next by a linear map. The rank is that of a matrix of
  residues: the body at several positions along the axis (rows) for several random values of what is read (columns).

A kernel's class: what it writes, its reductions (operator, axis, value of the body, the reductions of which it reads the
running value), and the streamed axis. Where pointwise work is done is no part of it: what is a function, element by
element, of one reduction counts as that reduction. docs/search.md lists what is no class of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workloads import brute
from workloads.brute import AXES, TINY, P, Q, Small, Step, Value, apply, leaf

LONG, DRAWS, RANK = 9, 8, 6  # positions and draws of the matrix; a rank above the last is taken as infinite
Red = tuple[str, str, bytes]
Entry = tuple[Red, frozenset[Red]]
Written = bytes
OUTPUT: Written = b"output"
Kernel = tuple[Written, frozenset[Entry], str | None]
Class = frozenset[Kernel]
Schedule = tuple[str, frozenset[str]]  # whole, second kernel or last block; the output's axes that the grid cuts


def rank(rows: list[list[int]]) -> int:
    """Over the field of residues modulo P."""
    rows, found = [list(r) for r in rows], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column] % P), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        inverse = pow(rows[found][column], P - 2, P)
        for i in range(found + 1, len(rows)):
            k = rows[i][column] * inverse % P
            if k:
                rows[i] = [(x - k * y) % P for x, y in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


@dataclass(frozen=True)
class Graph:
    """A program of operators. A value is its number, inputs first."""

    inputs: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]

    @cached_property
    def values(self) -> list[Value]:
        return Small(self.inputs, self.steps).values()

    def made(self, i: int) -> bool:
        return i >= len(self.inputs)

    def args(self, i: int) -> tuple[int, ...]:
        return self.steps[i - len(self.inputs)].args if self.made(i) else ()

    def op(self, i: int) -> tuple[str, str]:
        name, _, axis = self.steps[i - len(self.inputs)].op.partition(" ") if self.made(i) else ("in", "", "")
        return ("sum" if name == "dot" else name), axis

    def reduces(self, i: int) -> bool:
        return bool(self.op(i)[1])

    def dims(self, i: int) -> frozenset[str]:
        return self.values[i].dims

    def needs(self, i: int) -> bool:
        """Does the value need a reduction?"""
        return self.reduces(i) or any(map(self.needs, self.args(i)))

    def differences(self) -> set[tuple[bytes, ...]]:
        """The differences of two values that both need a reduction: they may cancel."""
        every = (self.args(i) for i in range(len(self.values)) if self.op(i)[0] == "sub")
        return {tuple(self.values[a].key for a in args) for args in every if all(map(self.needs, args))}

    def reduced(self, i: int) -> bool:
        """Is it reduced, after pointwise operators if at all?"""
        readers = [j for j in range(len(self.inputs), len(self.values)) if i in self.args(j)]
        return any(self.op(j)[1] in self.dims(i) if self.reduces(j) else self.reduced(j) for j in readers)

    def operand(self, i: int) -> bool:
        """Is it an operand of a matrix product?"""
        for j in filter(self.reduces, range(len(self.inputs), len(self.values))):
            a = self.args(j)
            if i in a and len(a) == 2 and self.dims(a[0]) - self.dims(a[1]) and self.dims(a[1]) - self.dims(a[0]):
                return True
        return False


class KernelOf:
    """The kernel that computes value `root` of a graph, reading the values `kept`."""

    def __init__(self, g: Graph, root: int, kept: frozenset[int]) -> None:
        self.g, self.root, self.kept = g, root, kept - {root}
        self.nodes: set[int] = set()
        todo = [root]
        while todo:
            i = todo.pop()
            if i not in self.nodes and i not in self.kept and g.made(i):
                self.nodes.add(i)
                todo += g.args(i)
        self.reds = {i: self.red(i) for i in sorted(self.nodes) if g.reduces(i)}

    def red(self, r: int) -> Red:
        """What identifies a reduction. What multiplies or divides its body, is read and does not vary along the axis may as well
        be applied to the sum."""
        name, axis = self.g.op(r)
        return brute.reduction(name, axis, self.body(r))

    def body(self, r: int) -> Value:
        name, axis = self.g.op(r)
        values = self.g.values
        above, below = [], []
        todo = [(a, True) for a in self.g.args(r)]
        while todo:
            i, up = todo.pop()
            op = self.g.op(i)[0]
            if name == "sum" and axis not in self.g.dims(i) and not self.front(i):
                continue
            if name == "sum" and i in self.nodes and op in ("mul", "div"):
                x, y = self.g.args(i)
                todo += [(x, up), (y, up == (op == "mul"))]
            else:
                (above if up else below).append(values[i])
        return product(above, below)

    def front(self, i: int) -> frozenset[int]:
        """The reductions of this kernel that `i` reads directly (itself, if it is one)."""
        if i not in self.nodes:
            return frozenset()
        if self.g.reduces(i):
            return frozenset({i})
        return frozenset().union(*(self.front(a) for a in self.g.args(i)))

    @property
    def written(self) -> Written:
        if self.root == len(self.g.values) - 1:
            return OUTPUT
        front = [apply(" ".join(self.g.op(r)), self.body(r)) for r in self.front(self.root)]
        return written(self.g.values[self.root], front)

    @property
    def alone(self) -> bool:
        """Is what it writes a function, element by element, of reductions with all of its axes? Of several ones only where
        a later reduction reads it."""
        front = self.front(self.root)
        same = all(self.g.dims(r) == self.g.dims(self.root) for r in front)
        return same and (len(front) == 1 or (len(front) > 1 and self.g.reduced(self.root)))

    def classes(self) -> Iterator[Kernel]:
        yield self.written, self.entries({}), None
        for axis in sorted({self.g.op(r)[1] for r in self.reds}):
            for running in self.forms(axis):
                yield self.written, self.entries(running), axis

    def along(self, i: int, axis: str) -> frozenset[int]:
        """The reductions over `axis` that `i` needs, not looking below them."""
        if i not in self.nodes:
            return frozenset()
        if self.g.op(i)[1] == axis:
            return frozenset({i})
        return frozenset().union(*(self.along(a, axis) for a in self.g.args(i)))

    def atoms(self, r: int, axis: str) -> tuple[frozenset[int], frozenset[int]]:
        """The largest parts of the body of `r` that do not vary along `axis` but need a reduction over it; and the
        reductions over it that are needed below another reduction."""
        found: set[int] = set()
        below: frozenset[int] = frozenset()
        todo = list(self.g.args(r))
        while todo:
            i = todo.pop()
            if i not in self.nodes or not self.along(i, axis):
                continue
            if axis not in self.g.dims(i):
                found.add(i)
            elif self.g.reduces(i):
                below |= self.along(i, axis)
            else:
                todo += self.g.args(i)
        return frozenset(found), below

    def forms(self, axis: str) -> Iterator[dict[int, frozenset[int]]]:
        """For each reduction over the streamed axis the ones of which it reads the running value."""
        own = [r for r in self.reds if self.g.op(r)[1] == axis]
        choices = []
        for r in own:
            atoms, below = self.atoms(r, axis)
            free = sorted(frozenset().union(*(self.along(u, axis) for u in atoms)) - below)
            options = []
            for n in range(len(free) + 1):
                for some in itertools.combinations(free, n):
                    moving = frozenset(u for u in atoms if self.along(u, axis) & set(some))
                    if not some or (self.g.op(r)[0] == "sum" and self.carries(r, axis, moving)):
                        options.append(frozenset(some))
            choices.append(options)
        for chosen in itertools.product(*choices):
            running = dict(zip(own, chosen, strict=True))
            if self.in_order(axis, running):
                yield {r: s for r, s in running.items() if s}

    def passes(self, axis: str, running: dict[int, frozenset[int]]) -> dict[int, int]:
        """The pass of each reduction over the streamed axis: after the final values that it reads."""
        found: dict[int, int] = {}
        for r in (r for r in self.reds if self.g.op(r)[1] == axis):
            needs = frozenset().union(*(self.along(a, axis) for a in self.g.args(r)))
            found[r] = max([1, *(found[s] + (s not in running.get(r, ())) for s in needs)])
        return found

    def in_order(self, axis: str, running: dict[int, frozenset[int]]) -> bool:
        """Is each running value that is read of the same pass?"""
        passes = self.passes(axis, running)
        return all(passes[s] == passes[r] for r in running for s in running[r])

    def schedules(self) -> Iterator[tuple[tuple[frozenset[Entry], str | None], set[Schedule]]]:
        """How each form can be run: any axes of the output over the grid, the others whole in each block; and where one pass
        over the streamed axis is all, that axis shared by blocks, whose results a second kernel or the last block
        combines (that only where all of them vary along every axis of the grid)."""
        free = sorted(
            self.g.dims(self.root) - {self.g.op(r)[1] for r in self.reds}
        )  # a reduced axis is whole in each block
        grids = [frozenset(x) for n in range(len(free) + 1) for x in itertools.combinations(free, n)]
        yield (self.entries({}), None), {("whole", x) for x in grids}
        for axis in sorted({self.g.op(r)[1] for r in self.reds} - set(free)):
            for running in self.forms(axis):
                passes = self.passes(axis, running)
                how = {("whole", x) for x in grids}
                if max(passes.values()) == 1:
                    how |= {("second kernel", x) for x in grids}
                    # the last block reads what blocks of its own part of the grid have written
                    how |= {("last block", x) for x in grids if all(x <= self.g.dims(r) for r in passes)}
                yield (self.entries(running), axis), how

    def entries(self, running: dict[int, frozenset[int]]) -> frozenset[Entry]:
        return frozenset((self.reds[r], frozenset(self.reds[s] for s in running.get(r, ()))) for r in self.reds)

    def carries(self, r: int, axis: str, moving: frozenset[int]) -> bool:
        """Has the body finite rank in the parts `moving`, without the number of elements so far (a body of ones)?"""
        sizes = {**TINY, axis: LONG}
        fixed = self.atoms(r, axis)[0]
        columns = []
        for draw in range(DRAWS):
            memo: dict[int, Value] = {}
            for u in fixed:
                rng = np.random.default_rng([u, draw if u in moving else 99])
                shape = [TINY[a] if a in self.g.dims(u) else 1 for a in AXES]
                memo[u] = Value(rng.integers(2, P, shape), rng.integers(2, Q, shape))
            xs = [self.value(a, sizes, memo) for a in self.g.args(r)]
            body = (apply("mul", *xs) if len(xs) > 1 else xs[0]).p
            body = np.moveaxis(body, AXES.index(axis), -1)
            columns.append([int(x) for x in body[(0,) * (body.ndim - 1)]])
        found = rank(columns)
        if found > RANK or (found > 1 and rank([*columns, [1] * LONG]) == found):
            return False
        first = self.before(r, axis, moving)
        with np.errstate(all="ignore"):
            rescaled = found == 1 and np.isfinite(np.float64(1.5) / first)
        return bool(np.isfinite(first) or rescaled)

    def before(self, r: int, axis: str, moving: frozenset[int]) -> np.float64:
        """The body for the running values before the first tile (sums 0, maxima -inf) and ordinary numbers elsewhere. Where it
        is infinite, only a rescale can begin: its factor is then 0."""

        def number(i: int, started: bool) -> np.float64:
            if i in moving:
                started = True
            if not started and (i not in self.nodes or self.g.reduces(i) or axis not in self.g.dims(i)):
                return np.float64(1.25 + 0.25 * (i % 3))
            op, over = self.g.op(i)
            if i not in self.nodes:
                return np.float64(1.25 + 0.25 * (i % 3))
            if over == axis:
                return np.float64(0.0 if op == "sum" else -np.inf)
            xs = [number(a, started) for a in self.g.args(i)]
            if over:
                return np.float64(np.prod(xs))
            return numeric(op, xs)

        with np.errstate(all="ignore"):
            return np.float64(np.prod([number(a, False) for a in self.g.args(r)]))

    def value(self, i: int, sizes: dict[str, int], memo: dict[int, Value]) -> Value:
        if i not in memo:
            if not self.g.made(i):
                memo[i] = leaf(*self.g.inputs[i], sizes)
            else:
                op = self.g.steps[i - len(self.g.inputs)].op
                memo[i] = apply(op, *(self.value(a, sizes, memo) for a in self.g.args(i)))
        return memo[i]


def numeric(op: str, xs: list[np.float64]) -> np.float64:
    """A pointwise operator; one that is not known here has a value where its arguments have."""
    if op == "exp":
        return np.float64(np.exp(xs[0]))
    known = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    return np.float64(known[op](*xs) if op in known else 0.5 if np.isfinite(xs[0]) else np.nan)


def written(value: Value, front: list[Value]) -> Written:
    """What a kernel writes: the reductions of which it is a function element by element, else its value."""
    if front and all(x.dims == value.dims for x in front):
        return b"".join(sorted({brute.scaled(x).key for x in front}))
    return brute.scaled(value).key


def product(above: list[Value], below: list[Value]) -> Value:
    one = np.ones([1] * len(AXES), np.int64)
    out = Value(one, one)
    for x in above:
        out = apply("mul", out, x)
    for x in below:
        out = apply("div", out, x)
    return out


def kept_sets(g: Graph) -> Iterator[frozenset[int]]:
    """Every set of intermediate values that may be kept."""
    last = len(g.values) - 1
    there = {brute.scaled(g.values[i]).key for i in (*range(len(g.inputs)), last)}  # a constant times what there is
    able = [i for i in range(len(g.inputs), last) if g.dims(i)]
    for n in range(len(able) + 1):
        for some in itertools.combinations(able, n):
            kept = frozenset(some)
            kernels = [KernelOf(g, i, kept) for i in some]
            names = {k.written for k in kernels} - there
            if len(names) < len(some):
                continue
            if all(k.alone or g.operand(k.root) for k in kernels):
                yield kept


def classes(program: Small, solutions: list[tuple[Step, ...]]) -> dict[Class, tuple[tuple[Step, ...], frozenset[int]]]:
    """The classes of all solutions, each with one of them and what it keeps."""
    found: dict[Class, tuple[tuple[Step, ...], frozenset[int]]] = {}
    own = Graph(program.inputs, program.steps).differences()
    for steps in solutions:
        g = Graph(program.inputs, steps)
        if not g.differences() <= own:
            continue
        for kept in kept_sets(g):
            each = [list(KernelOf(g, i, kept).classes()) for i in (*sorted(kept), len(g.values) - 1)]
            for choice in itertools.product(*each):
                found.setdefault(frozenset(choice), (steps, kept))
    return found


def schedules(
    program: Small, solutions: list[tuple[Step, ...]]
) -> dict[tuple[frozenset[Entry], str | None], set[Schedule]]:
    """For each form of a single kernel how it can be run."""
    found: dict[tuple[frozenset[Entry], str | None], set[Schedule]] = {}
    for steps in solutions:
        g = Graph(program.inputs, steps)
        for form, how in KernelOf(g, len(g.values) - 1, frozenset()).schedules():
            found.setdefault(form, set()).update(how)
    return found
