"""Terms: what a tensor means, as hash-consed expressions over named axes. A term is an int id in a `Terms` arena.

A term's value has one entry for each assignment to its free axes (`dims`). Sums and maxima are binders on a named axis.
Building a term already applies what holds without conditions: associativity, commutativity, constants, 1/(ab) = 1/a 1/b,
exp of a masked score. 0/1 factors of a product *select*: where the factor is 0 the product is 0, whatever the rest is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace as dc_replace
from fractions import Fraction
from typing import Literal, TypeVar

from mirage.ir.index import DimIndex
from mirage.meaning.nodes import (
    Action,
    Add,
    Apply,
    Change,
    Const,
    Exp,
    FloatLiteral,
    Index,
    Input,
    Inv,
    Kind,
    Mul,
    NegInf,
    Node,
    Op,
    Reduce,
    Size,
    Sqrt,
)
from mirage.meaning.whole_numbers import of_whole_numbers
from mirage.operators.block_operators import BLOCK, commutes, is_flag, rounds
from mirage.operators.intervals import Interval

Key = tuple[Hashable, ...]
T = TypeVar("T")
EMPTY: frozenset[int] = frozenset()


def refit(value: float) -> Fraction | None:
    """The Fraction that a float literal stands for, if any: its decimal text, or a ratio within 1e-12 relative that is a thousand times
    nearer than some ratio of such a denominator is to any number, as roots are."""
    if not math.isfinite(value):
        return None
    decimal = Fraction(repr(value))
    if decimal.denominator <= 10**12 and abs(decimal.numerator) <= 10**7:
        return decimal
    ratio = Fraction(value).limit_denominator(10**5)
    apart = abs(ratio - Fraction(value))
    if ratio and apart <= abs(Fraction(value)) / 10**12 and apart * ratio.denominator**2 <= Fraction(1, 1000):
        return ratio
    return Fraction(int(value)) if value == int(value) and abs(value) < 2**62 else None


class Terms:
    """The arena. Ids are topological: a term's parts have smaller ids."""

    def __init__(self, sizes: dict[str, int] | None = None) -> None:
        self.sizes: dict[str, int] = dict(sizes or {})
        self.nodes: list[Node] = []
        self._kids: list[tuple[int, ...]] = []
        self._dims: list[frozenset[str]] = []
        self._front: list[frozenset[int]] = []
        self._ids: dict[Key, int] = {}
        self._made: dict[tuple[str, tuple[int, ...]], int] = {}  # what sums and products of these came to
        self.bool_inputs: set[str] = set()
        self.whole_inputs: set[str] = set()  # of integers
        self.dropped: set[int] = set()  # terms that cancelled or stood beside a 0: whether they have a value is lost
        self._reads: dict[int, tuple[Input, ...]] = {}  # answers once given: a term never changes
        self._axes: dict[int, frozenset[str]] = {}

    # ---- reading
    def node(self, x: int) -> Node:
        return self.nodes[x]

    def kind(self, x: int) -> Kind:
        return self.nodes[x].kind

    def operator(self, x: int) -> str:
        """The operator of the table that makes a term of its parts: a function's name, else the node's own kind."""
        n = self.nodes[x]
        return n.name if isinstance(n, Apply) else n.kind

    def reduction(self, x: int) -> Reduce:
        """The node of a term that is known to be a reduction."""
        n = self.nodes[x]
        assert isinstance(n, Reduce)
        return n

    def read(self, x: int) -> Input:
        """The node of a term that is known to be an element of an input."""
        n = self.nodes[x]
        assert isinstance(n, Input)
        return n

    def factors(self, x: int) -> list[int]:
        """The parts of a product; anything else is its own only factor."""
        n = self.nodes[x]
        return list(n.parts) if isinstance(n, Mul) else [x]

    def change_of(self, x: int) -> Change:
        """The node of a term that is known to be the change of a running value."""
        n = self.nodes[x]
        assert isinstance(n, Change)
        return n

    def arg(self, x: int) -> int:
        """The argument of a term that is an inverse, exponential or root."""
        n = self.nodes[x]
        assert isinstance(n, (Inv, Exp, Sqrt))
        return n.arg

    def is_sum(self, x: int) -> bool:
        n = self.nodes[x]
        return isinstance(n, Reduce) and n.op == "sum"

    def reduces(self, x: int, axis: str) -> bool:
        """True if `x` is a reduction over `axis`."""
        n = self.nodes[x]
        return isinstance(n, Reduce) and n.axis == axis

    def is_maximum(self, x: int) -> bool:
        """A maximum over an axis (the pointwise one of two values is the function `maximum`)."""
        n = self.nodes[x]
        return isinstance(n, Reduce) and n.op == "max"

    def applies(self, x: int, name: str) -> bool:
        """True if `x` is an application of the pointwise function `name`."""
        n = self.nodes[x]
        return isinstance(n, Apply) and n.name == name

    def dims(self, x: int) -> frozenset[str]:
        """The axes along which `x` varies."""
        return self._dims[x]

    def front(self, x: int) -> frozenset[int]:
        """The reductions that `x` reads directly (itself, if it is one)."""
        return self._front[x]

    def kids(self, x: int) -> tuple[int, ...]:
        return self._kids[x]

    def closure(self, x: int) -> frozenset[int]:
        """Every reduction needed to compute `x`."""
        out: set[int] = set()
        todo = set(self._front[x])
        while todo:
            out |= todo
            todo = set().union(*(self._front[self.reduction(r).body] | self.siblings(r) for r in todo)) - out
        return frozenset(out)

    def siblings(self, r: int) -> frozenset[int]:
        """The other accumulators that a carried reduction's update reads."""
        updates = self.reduction(r).updates
        return frozenset().union(EMPTY, *(self._front[u.sibling] for u in updates if u.sibling is not None))

    def walk(self, x: int, *, into_reductions: bool = True) -> Iterator[int]:
        """`x` and everything below it, once each."""
        kids = self._kids
        seen = {x}
        todo = [x]
        while todo:
            y = todo.pop()
            yield y
            if into_reductions or not isinstance(self.nodes[y], Reduce):
                for k in kids[y]:
                    if k not in seen:
                        seen.add(k)
                        todo.append(k)

    def reads(self, x: int) -> tuple[Input, ...]:
        """The elements of inputs that `x` reads, also inside reductions."""
        found = self._reads.get(x)
        if found is None:
            found = self._reads[x] = tuple(n for n in map(self.node, self.walk(x)) if isinstance(n, Input))
        return found

    def inputs(self, x: int) -> frozenset[str]:
        return frozenset(n.name for n in self.reads(x))

    def axes(self, x: int) -> frozenset[str]:
        """Every axis that occurs in `x`, those that it binds among them."""
        found = self._axes.get(x)
        if found is None:
            free = frozenset[str]().union(*map(self.dims, self.walk(x)))
            found = self._axes[x] = free | {self.reduction(r).axis for r in self.closure(x)}
        return found

    # ---- building
    def make(self, node: Node, dims: Iterable[str], front: Iterable[int], key: Key | None = None) -> int:
        """The term of `node`; `key` where its identity is another than its fields'."""
        key = node.key if key is None else key
        found = self._ids.get(key)
        return self._new(key, node, dims, front) if found is None else found

    def find(self, node: Node) -> int | None:
        """The term that was made of such a node, if any."""
        return self._ids.get(node.key)

    def _new(self, key: Key, node: Node, dims: Iterable[str], front: Iterable[int]) -> int:
        x = self._ids[key] = len(self.nodes)
        self.nodes.append(node)
        self._kids.append(node.kids)
        self._dims.append(frozenset(dims))
        self._front.append(frozenset(front))
        return x

    def _union(self, xs: Iterable[int], table: list[frozenset[T]]) -> frozenset[T]:
        return frozenset().union(*(table[x] for x in xs))

    def _of_parts(self, key: Key, build: Callable[[], Node], parts: tuple[int, ...]) -> int:
        """The term of `key`; its node is built, with the axes and reductions of its parts, only where it is new."""
        found = self._ids.get(key)
        if found is not None:
            return found
        return self._new(key, build(), self._union(parts, self._dims), self._union(parts, self._front))

    def input(self, name: str, index: tuple[DimIndex, ...], *, boolean: bool = False) -> int:
        if boolean:
            self.bool_inputs.add(name)
        return self.make(Input(name, tuple(index)), [a for d in index for a in d.axes], ())

    def const(self, value: Fraction | int) -> int:
        number = Fraction(value)
        found = self._ids.get(("const", number))
        return self.make(Const(number), (), ()) if found is None else found

    def literal(self, value: float) -> int:
        """A float from the program's text; one that no small fraction fits is equal to itself alone."""
        if value == -math.inf:
            return self.neg_inf()
        fitted = refit(value)
        return self.const(fitted) if fitted is not None else self.opaque(repr(float(value)))

    def opaque(self, text: str) -> int:
        """A float by its text, equal to itself alone."""
        return self.make(FloatLiteral(text), (), ())

    def neg_inf(self) -> int:
        return self.make(NegInf(), (), ())

    def size(self, axis: str) -> int:
        return self.make(Size(axis), (), ())

    def index(self, axes: tuple[str, ...]) -> int:
        """The global index along `axes` flattened row-major: an integer."""
        return self.make(Index(tuple(axes)), axes, ())

    def is_const(self, x: int, value: int | None = None) -> bool:
        n = self.nodes[x]
        return isinstance(n, Const) and (value is None or n.value == value)

    def is_boolean(self, x: int) -> bool:
        n = self.nodes[x]
        if isinstance(n, Apply):
            return is_flag(n.name)
        if isinstance(n, Input):
            return n.name in self.bool_inputs
        return isinstance(n, Mul) and all(self.is_boolean(k) for k in n.parts)

    def is_integral(self, x: int) -> bool:
        """A term made of indices, sizes and integers alone."""
        n = self.nodes[x]
        if isinstance(n, Const):
            return n.value.denominator == 1
        return isinstance(n, (Index, Size)) or (isinstance(n, (Add, Mul)) and all(map(self.is_integral, n.parts)))

    def is_whole(self, x: int) -> bool:
        """Of whole numbers, infinities and NaN alone, as far as its operators say."""
        n = self.nodes[x]
        if isinstance(n, Apply):
            chosen = n.args[1:] if n.name == "where" else n.args if n.name in ("maximum", "minimum") else ()
            return n.name in ("floor", "round") or is_flag(n.name) or bool(chosen and all(map(self.is_whole, chosen)))
        if isinstance(n, (Add, Mul)):
            return all(map(self.is_whole, n.parts))
        if isinstance(n, Input):
            return n.name in self.whole_inputs or n.name in self.bool_inputs
        return self.is_integral(x) or self.is_boolean(x)

    def range_of(self, x: int) -> tuple[float, float]:
        """Bounds on it that its extrema with numbers say; infinite where they say none. NaN is beyond them."""
        n = self.nodes[x]
        if isinstance(n, Const):
            return float(n.value), float(n.value)
        if isinstance(n, Apply) and n.name in ("maximum", "minimum", "floor", "round"):
            found = BLOCK[n.name].interval(*(Interval(*self.range_of(k)) for k in n.args))
            return found.low, found.high
        return (0.0, 1.0) if self.is_boolean(x) else (-math.inf, math.inf)

    def masked(self, x: int) -> tuple[int, int] | None:
        """(condition, score) of where(condition, score, -inf)."""
        n = self.nodes[x]
        if isinstance(n, Apply) and n.name == "where":
            condition, score, otherwise = n.args
            if isinstance(self.nodes[otherwise], NegInf):
                return condition, score
        return None

    def coefficient(self, x: int) -> Fraction:
        """The number that a product is a multiple by."""
        n = self.nodes[x]
        last = self.nodes[n.parts[-1]] if isinstance(n, Mul) else n
        return last.value if isinstance(n, Mul) and isinstance(last, Const) else Fraction(1)

    def flat(self, kind: Literal["add", "mul"], xs: Iterable[int]) -> tuple[Fraction, list[int]]:
        """The constant and the sorted other parts of a flattened sum or product."""
        join = Mul if kind == "mul" else Add
        c = Fraction(1 if join is Mul else 0)
        rest: list[int] = []
        for x in xs:
            n = self.nodes[x]
            for y in n.kids if isinstance(n, join) else (x,):
                m = self.nodes[y]
                if isinstance(m, Const):
                    c = c * m.value if join is Mul else c + m.value
                else:
                    rest.append(y)
        return c, sorted(rest)

    def add(self, *xs: int) -> int:
        found = self._made.get(("add", xs))
        if found is None:
            found = self._made["add", xs] = self._add(xs)
        return found

    def _add(self, xs: tuple[int, ...]) -> int:
        c, rest = self.flat("add", xs)
        for i, y in enumerate(rest):
            hit = self.masked(y)
            if hit:
                others = rest[:i] + rest[i + 1 :] + ([self.const(c)] if c else [])
                return self.where(hit[0], self.add(hit[1], *others), self.neg_inf())
        if len(set(rest)) < len(rest):
            return self.add(self.const(c), *[self.mul(self.const(rest.count(y)), y) for y in sorted(set(rest))])
        like = self._like_terms(rest)
        if len(like) < len(rest):
            self.dropped.update(b for b, k in like.items() if not k)
            left = {b: k for b, k in like.items() if k or self.is_infinite(b)}
            return self.add(self.const(c), *[self.mul(self.const(k), b) for b, k in left.items()])
        k = common_size([*like.values(), *([c] if c else [])])
        if len(rest) > 1 and k is not None:  # 2x - 2u = 2(x - u)
            inner = [self.mul(self.const(Fraction(1) / k), y) for y in rest]
            return self.mul(self.const(k), self.add(self.const(c / k), *inner))
        parts = (*rest, self.const(c)) if c or not rest else tuple(rest)
        return parts[0] if len(parts) == 1 else self._of_parts(("add", parts), lambda: Add(parts), parts)

    def _like_terms(self, xs: list[int]) -> dict[int, Fraction]:
        """The terms without their coefficients, each with the sum of those that it has."""
        like: dict[int, Fraction] = {}
        for y in xs:
            k = self.coefficient(y)
            base = self._without_coefficient(y)
            like[base] = like.get(base, Fraction(0)) + k
        return like

    def _without_coefficient(self, x: int) -> int:
        n = self.nodes[x]
        if isinstance(n, Mul) and self.is_const(n.parts[-1]):
            return self.mul(*n.parts[:-1])
        return x

    def mul(self, *xs: int) -> int:
        found = self._made.get(("mul", xs))
        if found is None:
            found = self._made["mul", xs] = self._mul(xs)
        return found

    def _mul(self, xs: tuple[int, ...]) -> int:
        c, rest = self.flat("mul", xs)
        if c == 0 and not any(self.is_infinite(y) for y in rest):
            self.dropped.update(rest)
            return self.const(0)
        booleans = {y for y in rest if self.is_boolean(y)}
        if booleans:  # a 0/1 factor counts once
            rest = (
                sorted(booleans | {y for y in rest if y not in booleans})
                if len(set(rest)) == len(rest)
                else sorted(list(booleans) + [y for y in rest if y not in booleans])
            )
        if len(rest) == 1 and c > 0 and c != 1:
            hit = self.masked(rest[0])
            if hit:
                return self.where(hit[0], self.mul(self.const(c), hit[1]), self.neg_inf())
        if c != 1 or not rest:
            rest = [*rest, self.const(c)]
        if len(rest) == 1:
            return rest[0]
        parts = tuple(rest)
        return self._of_parts(("mul", parts), lambda: Mul(parts), parts)

    def is_infinite(self, x: int) -> bool:
        """An infinity, a NaN or 1 / 0 as it stands: 0 times it is not 0, and less itself it is not 0."""
        match self.nodes[x]:
            case NegInf():
                return True
            case FloatLiteral(text):
                return not math.isfinite(float(text))
            case Inv(arg):
                return self.is_const(arg, 0)
        return False

    def neg(self, x: int) -> int:
        return self.mul(self.const(-1), x)

    def sub(self, x: int, y: int) -> int:
        return self.add(x, self.neg(y))

    def inv(self, x: int) -> int:
        n = self.nodes[x]
        if isinstance(n, Const) and n.value:
            return self.const(1 / n.value)
        if isinstance(n, Inv):
            return n.arg
        if isinstance(n, Mul) and not any(self.is_boolean(y) for y in n.parts):
            return self.mul(*[self.inv(y) for y in n.parts])
        return self._of_parts(("inv", x), lambda: Inv(x), (x,))

    def exp(self, x: int) -> int:
        if self.is_const(x, 0):
            return self.const(1)
        if isinstance(self.nodes[x], NegInf):
            return self.const(0)
        hit = self.masked(x)
        if hit:
            return self.mul(hit[0], self.exp(hit[1]))
        return self._of_parts(("exp", x), lambda: Exp(x), (x,))

    def sqrt(self, x: int) -> int:
        if self.is_const(x, 0) or self.is_const(x, 1):
            return x
        return self._of_parts(("sqrt", x), lambda: Sqrt(x), (x,))

    def fn(self, name: str, *xs: int) -> int:
        """A pointwise function that the algebra does not look into, by its name in the operator table."""
        if name == "where":
            return self.where(*xs)
        if commutes(name):
            xs = tuple(sorted(xs))
        if rounds(name) and self.operator(xs[0]) == name:  # rounded already
            return xs[0]
        met = of_whole_numbers(self, name, xs)
        if met is not None:
            return met
        return self._of_parts(("fn", name, xs), lambda: Apply(name, xs), xs)

    def where(self, c: int, a: int, b: int) -> int:
        if a == b or self.is_const(c, 1):
            return a
        if self.is_const(c, 0):
            return b
        if self.is_const(b, 0) and self.is_boolean(c):
            return self.mul(c, a)
        if isinstance(self.nodes[b], NegInf):
            hit = self.masked(a)
            if hit and self.is_boolean(c):
                c, a = self.mul(c, hit[0]), hit[1]
        xs = (c, a, b)
        return self._of_parts(("fn", "where", xs), lambda: Apply("where", xs), xs)

    def select(self, c: int, a: int, b: int) -> int:
        """`where`, with the -inf branch last, so that masked scores read alike however they were written."""
        if self.kind(a) == "ninf" and self.kind(b) != "ninf":
            return self.where(self.negation(c), b, a)
        return self.where(c, a, b)

    def negation(self, c: int) -> int:
        """not c; comparisons of integers turn round (those of floats do not: NaN)."""
        match self.nodes[c]:
            case Apply("not", (inner,)):
                return inner
            case Apply("lt" | "le" as order, (a, b)) if self.is_integral(a) and self.is_integral(b):
                return self.fn("le" if order == "lt" else "lt", b, a)
        return self.fn("not", c)

    def max(self, axis: str, body: int) -> int:
        if axis not in self._dims[body]:
            return body
        return self._reduce("max", axis, body)

    def sum(self, axis: str, body: int) -> int:
        """The sum over `axis`; factors that are constants or sizes leave it."""
        if axis not in self._dims[body]:
            return self.mul(self.size(axis), body)
        outside, inside = self.strip(body)
        r = self._reduce("sum", axis, inside)
        return self.mul(*outside, r) if outside else r

    def _reduce(self, op: Op, axis: str, body: int) -> int:
        key = ("red", op, axis, body, EMPTY, ())
        found = self._ids.get(key)
        return self.reduce(Reduce(op, axis, body), key) if found is None else found

    def reduce(self, node: Reduce, key: Key) -> int:
        """The reduction as it stands; `key` is what makes two of them one."""
        return self.make(node, self._dims[node.body] - {node.axis}, [len(self.nodes)], key)

    def change(self, atom: int, action: Action) -> int:
        return self.make(Change(atom, action), self._dims[atom], ())

    def strip(self, body: int) -> tuple[list[int], int]:
        """Constant factors (numbers, sizes and their inverses) of a product, and the rest."""
        n = self.nodes[body]
        if not isinstance(n, Mul):
            return [], body
        outside = [y for y in n.parts if self.is_plain(y)]
        return outside, self.mul(*[y for y in n.parts if y not in outside])

    def is_plain(self, x: int) -> bool:
        """A number or a size, or the inverse or root of one: the same everywhere, known before anything runs."""
        n = self.nodes[x]
        return isinstance(n, (Const, FloatLiteral, Size)) or (isinstance(n, (Inv, Sqrt)) and self.is_plain(n.arg))

    # ---- rebuilding
    def rebuild(self, x: int, kids: tuple[int, ...]) -> int:
        """`x` with other parts (in the order of `kids`)."""
        match self.nodes[x]:
            case Add():
                return self.add(*kids)
            case Mul():
                return self.mul(*kids)
            case Inv():
                return self.inv(*kids)
            case Exp():
                return self.exp(*kids)
            case Sqrt():
                return self.sqrt(*kids)
            case Apply(name):
                return self.fn(name, *kids)
            case Reduce(op, axis):
                return (self.sum if op == "sum" else self.max)(axis, *kids)
        return x

    def rename(self, x: int, axes: dict[str, str], memo: dict[int, int] | None = None) -> int:
        """`x` with free and bound axes renamed (the caller answers for capture)."""
        memo = {} if memo is None else memo
        if x in memo:
            return memo[x]
        match self.nodes[x]:
            case Input(name, index):
                moved = tuple(dc_replace(d, axes=tuple(axes.get(a, a) for a in d.axes)) for d in index)
                out = self.make(Input(name, moved), [a for d in moved for a in d.axes], ())
            case Size(axis):
                out = self.size(axes.get(axis, axis))
            case Index(along):
                out = self.index(tuple(axes.get(a, a) for a in along))
            case Reduce(op, axis, body):
                out = (self.sum if op == "sum" else self.max)(axes.get(axis, axis), self.rename(body, axes, memo))
            case node:
                out = self.rebuild(x, tuple(self.rename(k, axes, memo) for k in node.kids)) if node.kids else x
        memo[x] = out
        return out

    def show(self, x: int, depth: int = 12) -> str:
        """Readable text, for people and golden files."""
        if depth == 0:
            return "…"
        sub = [self.show(k, depth - 1) for k in self.kids(x)]
        match self.nodes[x]:
            case Input(name, index):
                shown = (("*".join(d.axes) or "0") + (f"{d.offset:+d}" if d.offset else "") for d in index)
                return f"{name}[{', '.join(shown)}]"
            case Const(value):
                return str(value)
            case FloatLiteral(text):
                return f"lit({text})"
            case Size(axis):
                return f"size({axis})"
            case Index(axes):
                return f"index({'*'.join(axes)})"
            case NegInf():
                return "-inf"
            case Add():
                return "(" + " + ".join(sub) + ")"
            case Mul():
                return "(" + " * ".join(sub) + ")"
            case Reduce(op, axis, updates=updates):
                return f"{op}{'~' if updates else ''}_{axis}({sub[0]})"
            case Change(atom, action):
                return f"change{action}({self.show(atom, depth - 1)})"
            case Apply(name):
                return f"{name}({', '.join(sub)})"
            case node:
                return f"{node.kind}({', '.join(sub)})"


def common_size(coefficients: list[Fraction]) -> Fraction | None:
    """The size that all coefficients have, if it is not one."""
    sizes = {abs(k) for k in coefficients}
    return sizes.pop() if len(sizes) == 1 and sizes != {1} else None
