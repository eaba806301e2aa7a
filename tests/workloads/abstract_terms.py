"""Abstract expressions: what is computed, without saying for which element (paper section 4.3), and when one is part of
another. An expression is a nested tuple: ("in", name), ("add", x, y), ("mul", x, y), ("div", x, y), ("exp", x), ("sqrt", x),
("sum", axes, x) with the summed axes as a sorted tuple, and (function, x, ...) for whatever the axioms do not look into.

The axioms are the paper's, as data. `part_of` decides what follows from them by a canonical form instead of a solver:
equality makes an expression a sum of products, each with its summed axes, one exponential, one root and one denominator;
there is no cancellation, so that p is part of q exactly if q = p * m + s for a single product m, or p is part of an argument.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, reduce
from typing import Any

from mirage.meaning.nodes import Add, Apply, Exp, Input, Inv, Mul, Reduce, Sqrt
from mirage.meaning.terms import Terms

Expr = tuple[Any, ...]

# Variables are single letters; i and j stand for numbers of elements (here: the axes that are summed).
EQUAL: tuple[tuple[str, str], ...] = (
    ("add(x, y)", "add(y, x)"),
    ("mul(x, y)", "mul(y, x)"),
    ("add(x, add(y, z))", "add(add(x, y), z)"),
    ("mul(x, mul(y, z))", "mul(mul(x, y), z)"),
    ("add(mul(x, z), mul(y, z))", "mul(add(x, y), z)"),
    ("add(div(x, z), div(y, z))", "div(add(x, y), z)"),
    ("mul(x, div(y, z))", "div(mul(x, y), z)"),
    ("div(div(x, y), z)", "div(x, mul(y, z))"),
    ("sum(one, x)", "x"),
    ("sum(i, sum(j, x))", "sum(times(i, j), x)"),
    ("sum(i, add(x, y))", "add(sum(i, x), sum(i, y))"),
    ("sum(i, mul(x, y))", "mul(sum(i, x), y)"),
    ("sum(i, div(x, y))", "div(sum(i, x), y)"),
    ("mul(exp(x), exp(y))", "exp(add(x, y))"),
    ("mul(sqrt(x), sqrt(y))", "sqrt(mul(x, y))"),
)
# The first is part of the second; the relation is reflexive and transitive.
PART: tuple[tuple[str, str], ...] = (
    ("x", "add(x, y)"),
    ("x", "mul(x, y)"),
    ("x", "div(x, y)"),
    ("y", "div(x, y)"),
    ("x", "exp(x)"),
    ("x", "sqrt(x)"),
    ("x", "sum(i, x)"),
)

# One product: its atoms, its summed axes, the argument of its exponential, of its root, and its denominator (() without).
Bag = tuple[tuple[Any, int], ...]
Product = tuple[Bag, Bag, Any, Any, Any]
Form = tuple[tuple[Product, int], ...]


def _bag(c: Counter[Any]) -> tuple[tuple[Any, int], ...]:
    return tuple(sorted(((k, n) for k, n in c.items() if n), key=repr))


def _plus(*forms: Any) -> Any:
    total: Counter[Any] = Counter()
    for f in forms:
        total.update(dict(f))
    return _bag(total)


def _less(a: Any, b: Any) -> Any:
    """The multiset `a` without `b`; None if `b` is not part of it."""
    have, gone = Counter(dict(a)), Counter(dict(b))
    if any(have[k] < n for k, n in gone.items()):
        return None
    have.subtract(gone)
    return _bag(have)


def _times(a: Product, b: Product) -> Product:
    return (_plus(a[0], b[0]), _plus(a[1], b[1]), _plus(a[2], b[2]), _join(a[3], b[3]), _join(a[4], b[4]))


def _join(a: Any, b: Any) -> Any:
    """Two roots as one, two denominators as one: their product."""
    return product(a, b) if a and b else a or b


def product(a: Form, b: Form) -> Form:
    total: Counter[Product] = Counter()
    for m, n in a:
        for k, c in b:
            total[_times(m, k)] += n * c
    return _bag(total)


NOTHING: Product = ((), (), (), (), ())


def _single(**parts: Any) -> Form:
    names = ("atoms", "axes", "exp", "sqrt", "den")
    atoms, axes, exp, root, den = (parts.get(n, ()) for n in names)
    return (((atoms, axes, exp, root, den), 1),)


@lru_cache(maxsize=4096)
def form(e: Expr) -> Form:
    """The canonical form: equal for two expressions exactly if EQUAL makes them equal."""
    op = e[0]
    if op == "add":
        both: Form = _plus(form(e[1]), form(e[2]))
        return both
    if op == "mul":
        return product(form(e[1]), form(e[2]))
    if op == "div":
        return product(form(e[1]), _single(den=form(e[2])))
    if op in ("exp", "sqrt"):
        return _single(**{op: form(e[1])})
    if op == "sum":
        return product(form(e[2]), _single(axes=_bag(Counter(e[1]))))
    atom = e if op == "in" else (op, *map(form, e[1:]))
    return _single(atoms=((atom, 1),))


def _quotients(a: Any, b: Any) -> Iterator[Form]:
    """Every form whose product with `b` is `a`; the empty one (nothing) for a = b."""
    if a == b:
        yield ()
        return
    if not a or not b:
        if a and not b:
            yield a
        return
    yield from _divided(a, b)


def _divided(a: Form, b: Form) -> Iterator[Form]:
    for m, _ in a:
        for q in _shared(m, b[0][0]):
            rest = _less(a, product(((q, 1),), b))
            if rest == ():
                yield ((q, 1),)
            elif rest is not None:
                yield from (_plus(((q, 1),), f) for f in _divided(rest, b))


def _shared(m: Product, p: Product) -> Iterator[Product]:
    """Every product q with p * q = m."""
    atoms, axes, exp = _less(m[0], p[0]), _less(m[1], p[1]), _less(m[2], p[2])
    if atoms is None or axes is None or exp is None:
        return
    for root in _quotients(m[3], p[3]):
        for den in _quotients(m[4], p[4]):
            yield atoms, axes, exp, root, den


@lru_cache(maxsize=65536)
def within(p: Form, q: Form) -> bool:
    """Is `p` part of `q`, as forms?"""
    if p == q:
        return True
    for m, _ in q:
        for factor in _shared(m, p[0][0]):
            if _less(q, product(((factor, 1),), p)) is not None:
                return True
    return any(within(p, inner) for m, _ in q for inner in _arguments(m))


def _arguments(m: Product) -> Iterator[Form]:
    yield from (x for x in m[2:] if x)
    for atom, _ in m[0]:
        if atom[0] != "in":
            yield from atom[1:]


def part_of(x: Expr, y: Expr) -> bool:
    """The untyped relation: does PART with EQUAL make `x` part of `y`?"""
    return within(form(x), form(y))


def of_term(t: Terms, x: int) -> Expr:
    """The abstract expression of a term. Constants and sizes are inputs of their own name; signs are constants."""
    match t.node(x):
        case Input(name):
            return ("in", name)
        case Add(parts):
            return reduce(lambda a, b: ("add", a, b), [of_term(t, k) for k in parts])
        case Mul(parts):
            over = [t.arg(k) for k in parts if isinstance(t.node(k), Inv)]
            top = [of_term(t, k) for k in parts if not isinstance(t.node(k), Inv)]
            out: Expr = reduce(lambda a, b: ("mul", a, b), top) if top else ("in", "1")
            return reduce(lambda a, d: ("div", a, of_term(t, d)), over, out)
        case Inv(arg):
            return ("div", ("in", "1"), of_term(t, arg))
        case Exp(arg) | Sqrt(arg):
            return (t.kind(x), of_term(t, arg))
        case Reduce(op, axis, body):
            return ("sum", (axis,), of_term(t, body)) if op == "sum" else (f"max {axis}", of_term(t, body))
        case Apply(name, args):
            return (name, *(of_term(t, k) for k in args))
    return ("in", t.show(x))
