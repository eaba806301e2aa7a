"""Mutation operators on programs (terms): each gives what may stand in the place of one node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from mirage.ir.index import DimIndex
from mirage.meaning.nodes import Apply, Const, Input, Reduce, Size
from mirage.meaning.terms import Terms

SMALL_PRIMES = 227 * 113  # the primes of the original's verifier: numbers that differ by a multiple are equal to it
Operator = Callable[[Terms, int], Iterable[int]]


def substitute(t: Terms, root: int, old: int, new: int) -> int:
    """`root` with `new` wherever `old` stands."""
    memo = {old: new}

    def go(x: int) -> int:
        if x not in memo:
            kids = t.kids(x)
            memo[x] = t.rebuild(x, tuple(go(k) for k in kids)) if kids else x
        return memo[x]

    return go(root)


def of_kind(kind: str, change: Callable[[Terms, tuple[int, ...]], Iterable[int]]) -> Operator:
    return lambda t, x: change(t, t.kids(x)) if t.kind(x) == kind else ()


def without_one(t: Terms, kids: tuple[int, ...], join: Callable[..., int]) -> list[int]:
    return [join(*kids[:i], *kids[i + 1 :]) for i in range(len(kids))] if len(kids) > 1 else []


def constants(change: Callable[[Fraction], Iterable[Fraction]]) -> Operator:
    def operator(t: Terms, x: int) -> Iterator[int]:
        n = t.node(x)
        if isinstance(n, Const):
            yield from (t.const(v) for v in change(n.value))

    return operator


def is_small(c: Fraction) -> bool:
    return 0 < c < Fraction(1, 1000)


def epsilon_outside(t: Terms, x: int) -> Iterator[int]:
    """sqrt(a + eps) -> sqrt(a) + eps"""
    if t.kind(x) == "sqrt" and t.kind(t.kids(x)[0]) == "add":
        *rest, last = t.kids(t.kids(x)[0])
        if t.kind(last) == "const":
            yield t.add(t.sqrt(t.add(*rest)), last)


def renamed_reduction(t: Terms, x: int) -> Iterator[int]:
    """sum over k -> sum over another axis of the body"""
    n = t.node(x)
    if isinstance(n, Reduce):
        for axis in sorted(t.dims(n.body) - {n.axis}):
            yield t.sum(axis, n.body) if n.op == "sum" else t.max(axis, n.body)


def other_size(t: Terms, x: int) -> Iterator[int]:
    n = t.node(x)
    if isinstance(n, Size):
        yield from (t.size(a) for a in sorted(t.sizes) if a != n.axis)


def size_as_number(t: Terms, x: int) -> Iterator[int]:
    n = t.node(x)
    if isinstance(n, Size):
        yield t.const(t.sizes[n.axis])


def index_permuted(t: Terms, x: int) -> Iterator[int]:
    n = t.node(x)
    if isinstance(n, Input):
        for i in range(len(n.index) - 1):
            yield t.input(n.name, (*n.index[:i], n.index[i + 1], n.index[i], *n.index[i + 2 :]))


def index_shifted(t: Terms, x: int) -> Iterator[int]:
    n = t.node(x)
    if isinstance(n, Input):
        for i, d in enumerate(n.index):
            yield t.input(n.name, (*n.index[:i], replace(d, offset=d.offset + 1), *n.index[i + 1 :]))


def index_dropped(t: Terms, x: int) -> Iterator[int]:
    n = t.node(x)
    if isinstance(n, Input):
        for i in range(len(n.index)):
            yield t.input(n.name, (*n.index[:i], DimIndex(), *n.index[i + 1 :]))


def other_input(t: Terms, x: int) -> Iterator[int]:
    """Another input of as many dimensions, read at the same index."""
    n = t.node(x)
    if isinstance(n, Input):
        for y in range(len(t.nodes)):
            m = t.node(y)
            if isinstance(m, Input) and m.name != n.name and len(m.index) == len(n.index):
                yield t.input(m.name, n.index)


def one_shift_lost(t: Terms, x: int) -> Iterator[int]:
    """exp(a - m) -> exp(a) in one factor of a product alone"""
    if t.kind(x) != "mul":
        return
    kids = t.kids(x)
    for i, k in enumerate(kids):
        for y in list(t.walk(k)):
            if t.kind(y) == "exp" and t.kind(t.kids(y)[0]) == "add":
                for shorter in without_one(t, t.kids(t.kids(y)[0]), t.add):
                    yield t.mul(*kids[:i], substitute(t, k, y, t.exp(shorter)), *kids[i + 1 :])


def square_of_sum(t: Terms, x: int) -> Iterator[int]:
    """sum of squares -> square of the sum"""
    n = t.node(x)
    if isinstance(n, Reduce) and n.op == "sum" and t.kind(n.body) == "mul":
        kids = t.kids(n.body)
        if len(kids) == 2 and kids[0] == kids[1]:
            total = t.sum(n.axis, kids[0])
            yield t.mul(total, total)


def into_the_sum(t: Terms, x: int) -> Iterator[int]:
    """sum(f) g -> sum(f + g): a factor becomes a summand under the reduction"""
    if t.kind(x) == "mul":
        kids = t.kids(x)
        for r in kids:
            n = t.node(r)
            if isinstance(n, Reduce) and n.op == "sum":
                rest = [k for k in kids if k != r]
                yield t.sum(n.axis, t.add(n.body, *rest))


def function(name: str, *others: Callable[[Terms, tuple[int, ...]], int]) -> Operator:
    def operator(t: Terms, x: int) -> Iterator[int]:
        n = t.node(x)
        if isinstance(n, Apply) and n.name == name:
            yield from (other(t, n.args) for other in others)

    return operator


def times(n: int) -> Operator:
    return of_kind("exp", lambda t, k: [t.exp(t.mul(t.const(n), k[0]))])


def reduction(old: str, new: str) -> Operator:
    def operator(t: Terms, x: int) -> Iterator[int]:
        n = t.node(x)
        if isinstance(n, Reduce) and n.op == old:
            yield t.sum(n.axis, n.body) if new == "sum" else t.max(n.axis, n.body)

    return operator


OPERATORS: dict[str, Operator] = {
    "a sum becomes a product": of_kind("add", lambda t, k: [t.mul(*k)]),
    "a product becomes a sum": of_kind("mul", lambda t, k: [t.add(*k)]),
    "a summand is left out": of_kind("add", lambda t, k: without_one(t, k, t.add)),
    "a factor is left out": of_kind("mul", lambda t, k: without_one(t, k, t.mul)),
    "a factor is squared": of_kind("mul", lambda t, k: [t.mul(*k, y) for y in k]),
    "a summand changes its sign": of_kind("add", lambda t, k: [t.add(*k, t.mul(t.const(-2), y)) for y in k]),
    "a factor is inverted": of_kind("mul", lambda t, k: [t.mul(*k, t.inv(y), t.inv(y)) for y in k]),
    "sum becomes max": reduction("sum", "max"),
    "max becomes sum": reduction("max", "sum"),
    "another axis is reduced": renamed_reduction,
    "a sum of squares becomes a square": square_of_sum,
    "a factor enters the sum as a summand": into_the_sum,
    "a constant is one larger": constants(lambda c: [c + 1]),
    "a constant is 1% off": constants(lambda c: [c * Fraction(101, 100)]),
    "a constant is congruent modulo 227 and 113": constants(lambda c: [c + SMALL_PRIMES, c - SMALL_PRIMES]),
    "epsilon is ten times as large": constants(lambda c: [c * 10] if is_small(c) else []),
    "epsilon leaves the root": epsilon_outside,
    "the axis' size becomes a number": size_as_number,
    "the size of another axis": other_size,
    "an inverse is forgotten": of_kind("inv", lambda t, k: [k[0]]),
    "a root is forgotten": of_kind("sqrt", lambda t, k: [k[0]]),
    "a root is taken twice": of_kind("sqrt", lambda t, k: [t.sqrt(t.sqrt(k[0]))]),
    "an exponential of twice as much": times(2),
    "an exponential of 114 times as much": times(114),
    "an exponential of the negated": times(-1),
    "an exponential is linearized": of_kind("exp", lambda t, k: [t.add(t.const(1), k[0])]),
    "the shift is lost in one place": one_shift_lost,
    "sigmoid becomes another function": function(
        "sigmoid", lambda t, k: t.fn("tanh", k[0]), lambda t, k: t.exp(k[0]), lambda t, k: t.fn("sigmoid", t.neg(k[0])),
        lambda t, k: t.mul(t.fn("sigmoid", k[0]), t.exp(k[0])), lambda t, k: k[0],
    ),
    "maximum becomes another function": function(
        "maximum", lambda t, k: t.fn("minimum", *k), lambda t, k: k[0], lambda t, k: k[1], lambda t, k: t.add(*k)
    ),
    "an input is read with permuted indices": index_permuted,
    "an input is read one further": index_shifted,
    "an input is read at index 0": index_dropped,
    "another input is read": other_input,
}  # fmt: skip


def mutants(t: Terms, root: int) -> Iterator[tuple[str, int]]:
    """(operator, mutated root), every operator at every node, without those that are the same term."""
    nodes = list(t.walk(root))
    for name, operator in OPERATORS.items():
        for x in nodes:
            for new in list(operator(t, x)):
                if new != x and (changed := substitute(t, root, x, new)) != root:
                    yield name, changed
    names = sorted(t.dims(root))
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            yield "outputs are permuted", t.rename(root, {a: b, b: a})
