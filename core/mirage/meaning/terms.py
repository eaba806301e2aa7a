"""Terms: what a tensor means, as hash-consed expressions over named axes. A term is an int id in a `Terms` arena.

A term's value has one entry for each assignment to its free axes (`dims`). Sums and maxima are binders on a named axis.
Building a term already applies what holds without conditions: associativity, commutativity, constants, 1/(ab) = 1/a 1/b,
exp of a masked score. 0/1 factors of a product *select*: where the factor is 0 the product is 0, whatever the rest is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace as dc_replace
from fractions import Fraction
from typing import Any

from mirage.ir.index import DimIndex
from mirage.operators.block_operators import commutes, is_flag

Node = tuple[Any, ...]
EMPTY: frozenset[Any] = frozenset()


def refit(value: float) -> Fraction | None:
    """The Fraction that a float literal stands for (its decimal text, or a small ratio within 1e-12 relative), if any."""
    if not math.isfinite(value):
        return None
    decimal = Fraction(repr(value))
    if decimal.denominator <= 10**12 and abs(decimal.numerator) <= 10**7:
        return decimal
    ratio = Fraction(value).limit_denominator(10**5)
    if ratio and abs(float(ratio) - value) <= 1e-12 * abs(value):
        return ratio
    return Fraction(int(value)) if value == int(value) and abs(value) < 2**62 else None


class Terms:
    """The arena. Ids are topological: a term's parts have smaller ids."""

    def __init__(self, sizes: dict[str, int] | None = None) -> None:
        self.sizes: dict[str, int] = dict(sizes or {})
        self.nodes: list[Node] = []
        self._dims: list[frozenset[str]] = []
        self._front: list[frozenset[int]] = []
        self._ids: dict[Any, int] = {}
        self._made: dict[tuple[str, tuple[int, ...]], int] = {}  # what sums and products of these came to
        self.bool_inputs: set[str] = set()
        self.dropped: set[int] = set()  # terms that cancelled or stood beside a 0: whether they have a value is lost

    # ---- reading
    def node(self, x: int) -> Node:
        return self.nodes[x]

    def kind(self, x: int) -> str:
        return str(self.nodes[x][0])

    def dims(self, x: int) -> frozenset[str]:
        """The axes along which `x` varies."""
        return self._dims[x]

    def front(self, x: int) -> frozenset[int]:
        """The reductions that `x` reads directly (itself, if it is one)."""
        return self._front[x]

    def kids(self, x: int) -> tuple[int, ...]:
        n = self.nodes[x]
        k = n[0]
        if k in ("add", "mul"):
            return tuple(n[1])
        if k == "fn":
            return tuple(n[2])
        if k == "red":
            return (n[3],)
        if k in ("inv", "exp", "sqrt"):
            return (n[1],)
        return ()

    def closure(self, x: int) -> frozenset[int]:
        """Every reduction needed to compute `x`."""
        out: set[int] = set()
        todo = set(self._front[x])
        while todo:
            out |= todo
            todo = set().union(*(self._front[self.nodes[r][3]] | self.siblings(r) for r in todo)) - out
        return frozenset(out)

    def siblings(self, r: int) -> frozenset[int]:
        """The other accumulators that a carried reduction's update reads."""
        return frozenset().union(EMPTY, *(self._front[x] for _, x in self.nodes[r][5] if x is not None))

    def walk(self, x: int, *, into_reductions: bool = True) -> Iterator[int]:
        """`x` and everything below it, once each."""
        seen = {x}
        todo = [x]
        while todo:
            y = todo.pop()
            yield y
            if not into_reductions and self.kind(y) == "red":
                continue
            for k in self.kids(y):
                if k not in seen:
                    seen.add(k)
                    todo.append(k)

    def inputs(self, x: int) -> frozenset[str]:
        return frozenset(self.nodes[y][1] for y in self.walk(x) if self.kind(y) == "in")

    # ---- building
    def make(self, node: Node, dims: Iterable[str], front: Iterable[int], key: Any = None) -> int:
        key = node if key is None else key
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self.nodes)
            self.nodes.append(node)
            self._dims.append(frozenset(dims))
            self._front.append(frozenset(front))
        return found

    def _union(self, xs: Iterable[int], table: list[frozenset[Any]]) -> frozenset[Any]:
        return frozenset().union(*(table[x] for x in xs))

    def input(self, name: str, index: tuple[DimIndex, ...], *, boolean: bool = False) -> int:
        if boolean:
            self.bool_inputs.add(name)
        return self.make(("in", name, tuple(index)), [a for d in index for a in d.axes], ())

    def const(self, value: Fraction | int) -> int:
        return self.make(("const", Fraction(value)), (), ())

    def literal(self, value: float) -> int:
        """A float from the program's text; one that no small fraction fits is equal to itself alone."""
        if value == -math.inf:
            return self.neg_inf()
        fitted = refit(value)
        return self.const(fitted) if fitted is not None else self.make(("lit", repr(float(value))), (), ())

    def neg_inf(self) -> int:
        return self.make(("ninf",), (), ())

    def size(self, axis: str) -> int:
        return self.make(("size", axis), (), ())

    def index(self, axes: tuple[str, ...]) -> int:
        """The global index along `axes` flattened row-major: an integer."""
        return self.make(("index", tuple(axes)), axes, ())

    def is_const(self, x: int, value: int | None = None) -> bool:
        n = self.nodes[x]
        return bool(n[0] == "const" and (value is None or n[1] == value))

    def is_boolean(self, x: int) -> bool:
        n = self.nodes[x]
        if n[0] == "fn":
            return is_flag(n[1])
        if n[0] == "in":
            return n[1] in self.bool_inputs
        return bool(n[0] == "mul" and all(self.is_boolean(k) for k in n[1]))

    def is_integral(self, x: int) -> bool:
        """A term made of indices, sizes and integers alone."""
        n = self.nodes[x]
        if n[0] == "const":
            return bool(n[1].denominator == 1)
        return n[0] in ("index", "size") or (n[0] in ("add", "mul") and all(self.is_integral(k) for k in n[1]))

    def masked(self, x: int) -> tuple[int, int] | None:
        """(condition, score) of where(condition, score, -inf)."""
        n = self.nodes[x]
        if n[0] == "fn" and n[1] == "where" and self.kind(n[2][2]) == "ninf":
            return n[2][0], n[2][1]
        return None

    def coefficient(self, x: int) -> Fraction:
        n = self.nodes[x]
        if n[0] == "mul" and self.is_const(n[1][-1]):
            return Fraction(self.nodes[n[1][-1]][1])
        return Fraction(1)

    def flat(self, kind: str, xs: Iterable[int]) -> tuple[Fraction, list[int]]:
        """The constant and the sorted other parts of a flattened sum or product."""
        c = Fraction(1 if kind == "mul" else 0)
        rest: list[int] = []
        for x in xs:
            n = self.nodes[x]
            for y in n[1] if n[0] == kind else (x,):
                m = self.nodes[y]
                if m[0] == "const":
                    c = c * m[1] if kind == "mul" else c + m[1]
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
        like: dict[int, Fraction] = {}
        for y in rest:
            k = self.coefficient(y)
            base = self._without_coefficient(y)
            like[base] = like.get(base, Fraction(0)) + k
        if len(like) < len(rest):
            self.dropped.update(b for b, k in like.items() if not k)
            return self.add(
                self.const(c), *[self.mul(self.const(k), b) for b, k in like.items() if k or self.is_infinite(b)]
            )
        sizes = {abs(k) for k in like.values()} | ({abs(c)} if c else set())
        if len(rest) > 1 and len(sizes) == 1 and sizes != {1}:  # 2x - 2u = 2(x - u)
            (k,) = sizes
            inner = [self.mul(self.const(Fraction(1) / k), y) for y in rest]
            return self.mul(self.const(k), self.add(self.const(c / k), *inner))
        if c or not rest:
            rest = [*rest, self.const(c)]
        if len(rest) == 1:
            return rest[0]
        return self.make(("add", tuple(rest)), self._union(rest, self._dims), self._union(rest, self._front))

    def _without_coefficient(self, x: int) -> int:
        n = self.nodes[x]
        if n[0] == "mul" and self.is_const(n[1][-1]):
            return self.mul(*n[1][:-1])
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
        return self.make(("mul", tuple(rest)), self._union(rest, self._dims), self._union(rest, self._front))

    def is_infinite(self, x: int) -> bool:
        """An infinity, a NaN or 1 / 0 as it stands: 0 times it is not 0, and less itself it is not 0."""
        n = self.nodes[x]
        return bool(
            n[0] == "ninf"
            or (n[0] == "lit" and not math.isfinite(float(n[1])))
            or (n[0] == "inv" and self.is_const(n[1], 0))
        )

    def neg(self, x: int) -> int:
        return self.mul(self.const(-1), x)

    def sub(self, x: int, y: int) -> int:
        return self.add(x, self.neg(y))

    def inv(self, x: int) -> int:
        n = self.nodes[x]
        if n[0] == "const" and n[1]:
            return self.const(1 / n[1])
        if n[0] == "inv":
            return int(n[1])
        if n[0] == "mul" and not any(self.is_boolean(y) for y in n[1]):
            return self.mul(*[self.inv(y) for y in n[1]])
        return self._unary("inv", x)

    def exp(self, x: int) -> int:
        if self.is_const(x, 0):
            return self.const(1)
        if self.kind(x) == "ninf":
            return self.const(0)
        hit = self.masked(x)
        if hit:
            return self.mul(hit[0], self.exp(hit[1]))
        return self._unary("exp", x)

    def sqrt(self, x: int) -> int:
        if self.is_const(x, 0) or self.is_const(x, 1):
            return x
        return self._unary("sqrt", x)

    def _unary(self, kind: str, x: int) -> int:
        return self.make((kind, x), self._dims[x], self._front[x])

    def fn(self, name: str, *xs: int) -> int:
        """A pointwise function that the algebra does not look into, by its name in the operator table."""
        if name == "where":
            return self.where(*xs)
        if commutes(name):
            xs = tuple(sorted(xs))
        return self.make(("fn", name, tuple(xs)), self._union(xs, self._dims), self._union(xs, self._front))

    def where(self, c: int, a: int, b: int) -> int:
        if a == b or self.is_const(c, 1):
            return a
        if self.is_const(c, 0):
            return b
        if self.is_const(b, 0) and self.is_boolean(c):
            return self.mul(c, a)
        if self.kind(b) == "ninf":
            hit = self.masked(a)
            if hit and self.is_boolean(c):
                c, a = self.mul(c, hit[0]), hit[1]
        xs = (c, a, b)
        return self.make(("fn", "where", xs), self._union(xs, self._dims), self._union(xs, self._front))

    def select(self, c: int, a: int, b: int) -> int:
        """`where`, with the -inf branch last, so that masked scores read alike however they were written."""
        if self.kind(a) == "ninf" and self.kind(b) != "ninf":
            return self.where(self.negation(c), b, a)
        return self.where(c, a, b)

    def negation(self, c: int) -> int:
        """not c; comparisons of integers turn round (those of floats do not: NaN)."""
        n = self.nodes[c]
        if n[0] == "fn" and n[1] == "not":
            return int(n[2][0])
        if n[0] == "fn" and n[1] in ("lt", "le") and all(self.is_integral(k) for k in n[2]):
            return self.fn("le" if n[1] == "lt" else "lt", n[2][1], n[2][0])
        return self.fn("not", c)

    def max(self, axis: str, body: int) -> int:
        if axis not in self._dims[body]:
            return body
        key = ("red", "max", axis, body, EMPTY, ())
        return self.make(key, self._dims[body] - {axis}, [self._next(key)], key)

    def sum(self, axis: str, body: int) -> int:
        """The sum over `axis`; factors that are constants or sizes leave it."""
        if axis not in self._dims[body]:
            return self.mul(self.size(axis), body)
        outside, inside = self.strip(body)
        key = ("red", "sum", axis, inside, EMPTY, ())
        r = self.make(key, self._dims[inside] - {axis}, [self._next(key)], key)
        return self.mul(*outside, r) if outside else r

    def _next(self, key: Any) -> int:
        return self._ids.get(key, len(self.nodes))

    def strip(self, body: int) -> tuple[list[int], int]:
        """Constant factors (numbers, sizes and their inverses) of a product, and the rest."""
        if self.kind(body) != "mul":
            return [], body
        parts = self.nodes[body][1]
        outside = [y for y in parts if self.is_plain(y)]
        return outside, self.mul(*[y for y in parts if y not in outside])

    def is_plain(self, x: int) -> bool:
        """A number or a size, or the inverse or root of one: the same everywhere, known before anything runs."""
        k = self.kind(x)
        if k in ("const", "lit", "size"):
            return True
        return k in ("inv", "sqrt") and self.is_plain(self.nodes[x][1])

    # ---- rebuilding
    def rebuild(self, x: int, kids: tuple[int, ...]) -> int:
        """`x` with other parts (in the order of `kids`)."""
        n = self.nodes[x]
        k = n[0]
        if k == "add":
            return self.add(*kids)
        if k == "mul":
            return self.mul(*kids)
        if k == "inv":
            return self.inv(kids[0])
        if k == "exp":
            return self.exp(kids[0])
        if k == "sqrt":
            return self.sqrt(kids[0])
        if k == "fn":
            return self.fn(n[1], *kids)
        if k == "red":
            return self.sum(n[2], kids[0]) if n[1] == "sum" else self.max(n[2], kids[0])
        return x

    def rename(self, x: int, axes: dict[str, str], memo: dict[int, int] | None = None) -> int:
        """`x` with free and bound axes renamed (the caller answers for capture)."""
        memo = {} if memo is None else memo
        if x in memo:
            return memo[x]
        n = self.nodes[x]
        if n[0] == "in":
            index = tuple(dc_replace(d, axes=tuple(axes.get(a, a) for a in d.axes)) for d in n[2])
            out = self.make(("in", n[1], index), [a for d in index for a in d.axes], ())
        elif n[0] == "size":
            out = self.size(axes.get(str(n[1]), str(n[1])))
        elif n[0] == "index":
            out = self.index(tuple(axes.get(a, a) for a in n[1]))
        elif n[0] == "red":
            body = self.rename(n[3], axes, memo)
            axis = axes.get(str(n[2]), str(n[2]))
            out = self.sum(axis, body) if n[1] == "sum" else self.max(axis, body)
        else:
            kids = self.kids(x)
            out = self.rebuild(x, tuple(self.rename(k, axes, memo) for k in kids)) if kids else x
        memo[x] = out
        return out

    def show(self, x: int, depth: int = 12) -> str:
        """Readable text, for people and golden files."""
        n = self.nodes[x]
        if depth == 0:
            return "…"
        sub = [self.show(k, depth - 1) for k in self.kids(x)]
        if n[0] == "in":
            index = ", ".join(("*".join(d.axes) or "0") + (f"{d.offset:+d}" if d.offset else "") for d in n[2])
            return f"{n[1]}[{index}]"
        if n[0] == "const":
            return str(n[1])
        if n[0] in ("lit", "size"):
            return f"{n[0]}({n[1]})"
        if n[0] == "index":
            return f"index({'*'.join(n[1])})"
        if n[0] == "ninf":
            return "-inf"
        if n[0] in ("add", "mul"):
            return "(" + (" + " if n[0] == "add" else " * ").join(sub) + ")"
        if n[0] == "red":
            carried = "~" if n[5] else ""
            return f"{n[1]}{carried}_{n[2]}({sub[0]})"
        return f"{n[1] if n[0] == 'fn' else n[0]}({', '.join(sub)})"
