"""Every program of at most N operators, by brute force: what a search without any pruning would look at.

Operators: add, mul and div of two values, a function of one, the sum or the maximum over an axis, and dot (the sum of a
product). All sequences are tried, each operator on all values made before it; only the order of independent operators is
fixed, and a value that nothing reads any more ends a sequence. Values are compared in a finite field at tiny sizes, with an
evaluator of its own. It knows nothing of the search: no moves, no normal form, no pruning relation.

A solution's class is the set of its reductions (operator, axis, value of the body). Left out, because the search says that it
answers them in another form: a sum of a product with a factor that does not vary along the axis and is made of inputs alone,
or has axes that no other single factor has (it stands outside: less is computed), constant factors of a sum (likewise),
and exponentials that the program does not have (they may overflow).
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from mirage.ir.index import DimIndex
from mirage.meaning.nodes import Add, Apply, Const, Input, Inv, Mul, Node, Reduce, Size
from mirage.meaning.terms import Terms

P, Q = 2147483579, 1073741789  # P = 2 Q + 1
ROOT = 16  # of order Q modulo P: a fourth power
AXES = ("m", "k", "n", "r")
TINY = {"m": 2, "k": 3, "n": 4, "r": 5}
Array = np.ndarray[Any, np.dtype[np.int64]]
Reduction = tuple[str, str, bytes]
Class = frozenset[Reduction]


def power(base: Array | int, exponent: Array | int, m: int) -> Array:
    bases, exponents = np.broadcast_arrays(np.asarray(base), np.asarray(exponent))
    flat = [pow(int(b), int(e), m) for b, e in zip(bases.ravel(), exponents.ravel(), strict=True)]
    return np.array(flat, np.int64).reshape(bases.shape)


def scramble(name: str, *arrays: Array) -> Array:
    """A function that nobody knows anything about, element by element."""
    spread = np.broadcast_arrays(*arrays)
    flat = []
    for row in zip(*(a.ravel().tolist() for a in spread), strict=True):
        flat.append(int.from_bytes(hashlib.blake2b(repr((name, row)).encode(), digest_size=8).digest(), "big"))
    return np.array([x % P for x in flat], np.int64).reshape(spread[0].shape)


@dataclass(frozen=True)
class Value:
    """Residues modulo P and Q, one array dim an axis (1 where it does not vary). `spent`: the second has no meaning."""

    p: Array
    q: Array
    spent: bool = False

    @property
    def dims(self) -> frozenset[str]:
        return frozenset(a for a, n in zip(AXES, self.p.shape, strict=True) if n > 1)

    @property
    def key(self) -> bytes:
        text = repr((self.p.shape, self.p.tobytes(), b"" if self.spent else self.q.tobytes()))
        return hashlib.blake2b(text.encode(), digest_size=16).digest()


def leaf(name: str, axes: str, sizes: dict[str, int] = TINY) -> Value:
    rng = np.random.default_rng(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest(), "big"))
    shape = [sizes[a] if a in axes else 1 for a in AXES]
    return Value(rng.integers(2, P, shape), rng.integers(2, Q, shape))


def narrowed(v: Value) -> Value:
    """`v` without the axes along which it does not vary after all (X / X)."""
    for place, n in enumerate(v.p.shape):
        if n > 1 and all((x == np.take(x, [0], place)).all() for x in ((v.p,) if v.spent else (v.p, v.q))):
            v = Value(np.take(v.p, [0], place), np.take(v.q, [0], place), v.spent)
    return v


def apply(op: str, *xs: Value) -> Value:
    return narrowed(_apply(op, *xs))


def _apply(op: str, *xs: Value) -> Value:
    """One operator; `sum k`, `max k`, `dot k` name their axis, an unknown name is an opaque function."""
    name, _, axis = op.partition(" ")
    spent = any(x.spent for x in xs)
    if name in ("add", "sub", "mul", "dot"):
        a, b = xs
        if name == "add":
            return Value((a.p + b.p) % P, (a.q + b.q) % Q, spent)
        if name == "sub":
            return Value((a.p - b.p) % P, (a.q - b.q) % Q, spent)
        product = Value(a.p * b.p % P, a.q * b.q % Q, spent)
        return product if name == "mul" else _apply(f"sum {axis}", product)
    if name == "div":
        a, b = xs
        return Value(a.p * power(b.p, P - 2, P) % P, a.q * power(b.q, Q - 2, Q) % Q, spent)
    (a,) = xs
    if name == "sum":
        place = AXES.index(axis)
        return Value(a.p.sum(place, keepdims=True) % P, a.q.sum(place, keepdims=True) % Q, spent)
    if name == "max":
        place = AXES.index(axis)
        slices = [np.take(x, [i], place) for i in range(a.p.shape[place]) for x in ((a.p,) if spent else (a.p, a.q))]
        made = scramble("max", *slices)
        return Value(made, scramble("max'", made) % Q, spent)
    if name == "exp":
        return Value(power(ROOT, a.q, P), scramble("exp", a.q) % Q, True)
    made = scramble(name, a.p, *(() if spent else (a.q,)))
    return Value(made, scramble(name + "'", made) % Q, spent)


def scaled(x: Value) -> Value:
    """`x` up to constant factors."""
    p, q = int(x.p.ravel()[0]), int(x.q.ravel()[0])
    return Value(x.p * pow(p, P - 2, P) % P, x.q * pow(q, Q - 2, Q) % Q, x.spent)


def reduction(op: str, axis: str, body: Value) -> Reduction:
    """What identifies a reduction. Constant factors of a sum are outside it."""
    return op, axis, (scaled(body) if op == "sum" else body).key


@dataclass(frozen=True)
class Step:
    op: str
    args: tuple[int, ...]


@dataclass(frozen=True)
class Small:
    """A program: its inputs by name with their axes, and its operators; the last one's value is the output."""

    inputs: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]

    def values(self) -> list[Value]:
        out = [leaf(*x) for x in self.inputs]
        for s in self.steps:
            out.append(apply(s.op, *(out[i] for i in s.args)))
        return out

    def term(self, t: Terms) -> int:
        """The program for the search."""
        made = [t.input(name, tuple(DimIndex((a,)) for a in axes)) for name, axes in self.inputs]
        build: dict[str, Callable[..., int]] = {
            "add": t.add, "sub": t.sub, "mul": t.mul, "div": lambda a, b: t.mul(a, t.inv(b)),
        }  # fmt: skip
        for s in self.steps:
            name, _, axis = s.op.partition(" ")
            xs = [made[i] for i in s.args]
            if name in ("sum", "max"):
                made.append(getattr(t, name)(axis, xs[0]))
            elif name == "dot":
                made.append(t.sum(axis, t.mul(*xs)))
            elif name in ("exp", "sqrt"):
                made.append(getattr(t, name)(xs[0]))
            else:
                made.append(build[name](*xs) if name in build else t.fn(name, *xs))
        return made[-1]


def small(inputs: str, *steps: str) -> Small:
    """`X:mk W:kn`, then operators as `dot k 0 1`: a value's number counts inputs first."""
    made = []
    for text in steps:
        words = text.split()
        numbers = [int(w) for w in words if w.isdigit()]
        made.append(Step(" ".join(w for w in words if not w.isdigit()), tuple(numbers)))
    return Small(tuple((x.split(":")[0], x.split(":")[1]) for x in inputs.split()), tuple(made))


def number(c: Fraction | int) -> Value:
    one = np.ones([1] * len(AXES), np.int64)
    p, q = (one * (c.numerator % m * pow(c.denominator, -1, m) % m) for m in (P, Q))
    return Value(p, q)


def _of_node(t: Terms, n: Node, axes: dict[str, str], memo: dict[int, Value]) -> Value:
    kids = [of_term(t, k, axes, memo) for k in n.kids]
    match n:
        case Input(name):
            return leaf(name, axes[name])
        case Const(value):
            return number(value)
        case Size(axis):
            return number(TINY[axis])
        case Apply("finite"):  # the guard of a maximum is the identity
            return kids[0]
        case Add() | Mul():
            return reduce(lambda a, b: apply(n.kind, a, b), kids)
        case Inv():
            return apply("div", number(1), *kids)
        case Reduce(op, axis):
            return apply(f"{op} {axis}", *kids)
    return apply(n.name if isinstance(n, Apply) else n.kind, *kids)


def of_term(t: Terms, x: int, axes: dict[str, str], memo: dict[int, Value]) -> Value:
    """A term's value. `axes`: of each input; constants are residues."""
    if x not in memo:
        memo[x] = _of_node(t, t.node(x), axes, memo)
    return memo[x]


@dataclass
class Brute:
    """The enumeration for one program. `keep` may drop a value when it is made (a pruning relation), given the
    program up to it; `visited` counts."""

    program: Small
    most: int
    keep: Callable[[Small], bool] | None = None
    visited: int = 0
    classes: dict[Class, tuple[Step, ...]] = field(default_factory=dict)
    solutions: list[tuple[Step, ...]] = field(default_factory=list)

    def run(self) -> dict[Class, tuple[Step, ...]]:
        """The classes of all solutions, each with one of them."""
        program = self.program.values()
        self.target = program[-1].key
        self.exponentials = {v.key for v, s in zip(program[len(self.program.inputs) :], self.program.steps, strict=True)
                             if s.op == "exp"}  # fmt: skip
        names = {s.op.partition(" ")[0] for s in self.program.steps}
        self.unary = sorted(names - {"add", "sub", "mul", "div", "dot", "sum", "max"})
        self.binary = ["add", "mul", *sorted(names & {"sub", "div"})]
        self.reduces = ["sum"] + (["max"] if "max" in names else [])
        self.axes = sorted({a for _, axes in self.program.inputs for a in axes} - set(program[-1].dims))
        self.axes += [a for a in "k" if a in program[-1].dims and names & {"sum", "dot", "max"}]
        self._memo: dict[tuple[str, tuple[bytes, ...]], Value] = {}
        values = [leaf(*x) for x in self.program.inputs]
        self._go(values, [v.key for v in values], [frozenset()] * len(values), [], 0)
        return self.classes

    def _moves(self, values: list[Value]) -> Iterator[Step]:
        n = len(values)
        for i in range(n):
            for op in self.unary:
                yield Step(op, (i,))
            for axis in sorted(values[i].dims & set(self.axes)):
                yield from (Step(f"{op} {axis}", (i,)) for op in self.reduces)
        for i, j in itertools.product(range(n), repeat=2):
            for op in self.binary:
                if op in ("sub", "div") or i <= j:
                    yield Step(op, (i, j))
            if i <= j:
                for axis in sorted(values[i].dims & values[j].dims & set(self.axes)):
                    yield Step(f"dot {axis}", (i, j))

    def _go(self, values: list[Value], keys: list[bytes], needs: list[Class], steps: list[Step], unread: int) -> None:
        """`needs`: the reductions that each value needs; `unread`: operators whose value nothing reads yet."""
        inputs = len(self.program.inputs)
        left = self.most - len(steps)
        read = {i for s in steps for i in s.args}
        for step in self._moves(values):
            if steps and len(values) - 1 not in step.args and repr(step) < repr(steps[-1]):
                continue  # the same operators in another order
            waiting = sum(i not in read and i not in step.args for i in range(inputs, len(values)))
            if waiting > left - 1:
                continue
            name, _, axis = step.op.partition(" ")
            made = self._apply(step, values, keys)
            self.visited += 1
            key = made.key
            if key in keys or (name == "exp" and key not in self.exponentials):
                continue
            if self.keep and not self.keep(Small(self.program.inputs, (*steps, step))):
                continue
            need = frozenset().union(*(needs[i] for i in step.args))
            if name in ("sum", "max", "dot"):
                body = self._apply(Step("mul", step.args), values, keys) if name == "dot" else values[step.args[0]]
                outside = self._outside(step, steps, values, needs, axis)
                if outside:
                    continue
                need |= {reduction("max" if name == "max" else "sum", axis, body)}
            if key == self.target and waiting == 0:
                self.classes.setdefault(need, (*steps, step))
                self.solutions.append((*steps, step))
            if left > 1:
                self._go([*values, made], [*keys, key], [*needs, need], [*steps, step], waiting)

    def _outside(self, step: Step, steps: list[Step], values: list[Value], needs: list[Class], axis: str) -> bool:
        """Has the summed product a factor that does not vary along the axis, of inputs alone or with axes that no other
        single factor has?"""
        if step.op.startswith("max"):
            return False
        inputs, todo = len(self.program.inputs), list(step.args)
        along: list[frozenset[str]] = []
        still: list[frozenset[str]] = []
        while todo:
            i = todo.pop()
            if axis not in values[i].dims:
                if not needs[i]:
                    return True
                still.append(values[i].dims)
            elif i >= inputs and steps[i - inputs].op in ("mul", "div"):
                todo += steps[i - inputs].args
            else:
                along.append(values[i].dims)
        return any(not any(dims <= other for other in along) for dims in still)

    def _apply(self, step: Step, values: list[Value], keys: list[bytes]) -> Value:
        key = step.op, tuple(keys[i] for i in step.args)
        if key not in self._memo:
            self._memo[key] = apply(step.op, *(values[i] for i in step.args))
        return self._memo[key]


def random_small(seed: int, most: int = 4) -> Small:
    """A random program of at most `most` operators over X[m, k], Y[m, k], W[k, n] with at least one reduction."""
    rng = random.Random(seed)
    inputs = (("X", "mk"), ("Y", "mk"), ("W", "kn"))
    while True:
        values, steps = [leaf(*x) for x in inputs], []
        for _ in range(rng.randint(2, most)):
            op = rng.choice(["add", "mul", "mul", "div", "sum k", "dot k", "dot k", "sigmoid", "max k"])
            args = (rng.randrange(len(values)),) if op[:3] in ("sum", "max", "sig") else tuple(
                rng.sample(range(len(values)), 2))  # fmt: skip
            axis = op.partition(" ")[2]
            if axis and not all(axis in values[i].dims for i in args):
                continue
            made = apply(op, *(values[i] for i in args))
            if made.p.size > TINY["m"] * TINY["k"] * TINY["n"]:
                continue
            values.append(made)
            steps.append(Step(op, args))
        reads = {i for s in steps for i in s.args}
        unread = [i for i in range(len(inputs), len(values)) if i not in reads]
        used = tuple(x for i, x in enumerate(inputs) if i in reads)
        if len(steps) < 2 or unread != [len(values) - 1] or not any(" " in s.op for s in steps):
            continue
        if not {"m"} <= values[-1].dims:
            continue
        moved = {old: new for new, old in enumerate([*(i for i in range(3) if i in reads), *range(3, len(values))])}
        return Small(used, tuple(Step(s.op, tuple(moved[i] for i in s.args)) for s in steps))
