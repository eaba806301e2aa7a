"""The executable specification of well-formed terms: a table of named rules, and the check of an arena against them.

`Terms` keeps the rules by construction. Whoever adds a constructor or a rewriting runs `check` over its arena: a rule that does
not hold means that equal terms may have two ids, or that a term's axes are not those along which it varies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mirage.meaning.nodes import (
    Add,
    Apply,
    Change,
    Const,
    Exp,
    FloatLiteral,
    Index,
    Input,
    Inv,
    Mul,
    NegInf,
    Node,
    Reduce,
    Sqrt,
)
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import commutes


@dataclass(frozen=True)
class SpecRule:
    """`holds(terms, id, node)` decides the statement for one term."""

    name: str
    statement: str
    holds: Callable[[Terms, int, Node], bool]


class IllFormed(Exception):
    """A term breaks a rule."""


def read_by(n: Node) -> tuple[int, ...]:
    """Every term that a node names, its parts among them."""
    match n:
        case Change(atom):
            return (atom,)
        case Reduce(_, _, body, changes, updates):
            named = [x for u in updates for x in (u.coefficient, u.sibling) if x is not None]
            return (body, *changes, *named)
    return n.kids


def parts_first(t: Terms, x: int, n: Node) -> bool:
    return all(0 <= k < x for k in read_by(n))


def made_once(t: Terms, x: int, n: Node) -> bool:
    return isinstance(n, Reduce) or t.find(n) == x


def own_axes(t: Terms, x: int, n: Node) -> bool:
    match n:
        case Input(_, index):
            return t.dims(x) == {a for d in index for a in d.axes}
        case Index(axes):
            return t.dims(x) == set(axes)
        case Reduce(_, axis, body):
            return t.dims(x) == t.dims(body) - {axis}
        case Change(atom):
            return t.dims(x) == t.dims(atom)
    return t.dims(x) == frozenset().union(*map(t.dims, n.kids))


def own_front(t: Terms, x: int, n: Node) -> bool:
    return t.front(x) == ({x} if isinstance(n, Reduce) else frozenset().union(*map(t.front, n.kids)))


def flat(t: Terms, x: int, n: Node) -> bool:
    return not isinstance(n, (Add, Mul)) or (len(n.parts) > 1 and not any(type(t.node(k)) is type(n) for k in n.parts))


def constant_last(t: Terms, x: int, n: Node) -> bool:
    if not isinstance(n, (Add, Mul)):
        return True
    *rest, last = n.parts
    if any(t.is_const(k) for k in rest) or t.is_const(last, 0 if isinstance(n, Add) else 1):
        return False
    return not t.is_const(last, 0) or any(map(t.is_infinite, rest))


def in_order(t: Terms, x: int, n: Node) -> bool:
    if isinstance(n, Apply):
        return not commutes(n.name) or list(n.args) == sorted(n.args)
    if not isinstance(n, (Add, Mul)):
        return True
    others = [k for k in n.parts if not t.is_const(k)]
    return others == sorted(others)


def like_terms(t: Terms, x: int, n: Node) -> bool:
    if not isinstance(n, Add):
        return True
    rest = [k for k in n.parts if not t.is_const(k)]
    bases = [tuple(f for f in t.factors(k) if not t.is_const(f)) for k in rest]
    sizes = {abs(t.coefficient(k)) for k in rest} | {abs(c.value) for c in map(t.node, n.parts) if isinstance(c, Const)}
    return len(set(bases)) == len(bases) and (len(rest) < 2 or sizes == {1} or len(sizes) > 1)


def masks_outside(t: Terms, x: int, n: Node) -> bool:
    match n:
        case Add(parts):
            return not any(map(t.masked, parts))
        case Mul((only, number)):
            return t.masked(only) is None or t.coefficient(x) <= 0 or not t.is_const(number)
        case Exp(arg):
            return t.masked(arg) is None
    return True


def booleans_once(t: Terms, x: int, n: Node) -> bool:
    if not isinstance(n, Mul):
        return True
    own = [k for k in n.parts if t.is_boolean(k)]
    return len(set(own)) == len(own)


def carried_out(t: Terms, x: int, n: Node) -> bool:
    match n:
        case Inv(arg):
            below = t.node(arg)
            if isinstance(below, Mul):
                return any(map(t.is_boolean, below.parts))
            return not isinstance(below, Inv) and (not isinstance(below, Const) or below.value == 0)
        case Exp(arg):
            return not t.is_const(arg, 0) and not isinstance(t.node(arg), NegInf)
        case Sqrt(arg):
            return not t.is_const(arg, 0) and not t.is_const(arg, 1)
        case Apply("where", (condition, a, b)):
            selects = t.is_const(b, 0) and t.is_boolean(condition)
            return a != b and not selects and not t.is_const(condition, 0) and not t.is_const(condition, 1)
    return True


def binds(t: Terms, x: int, n: Node) -> bool:
    return not isinstance(n, Reduce) or n.axis in t.dims(n.body)


def stripped(t: Terms, x: int, n: Node) -> bool:
    return not isinstance(n, Reduce) or n.op != "sum" or not any(map(t.is_plain, t.factors(n.body)))


def updates_fit(t: Terms, x: int, n: Node) -> bool:
    if not isinstance(n, Reduce):
        return True
    found = {y for u in n.updates for y in t.walk(u.coefficient) if isinstance(t.node(y), Change)}
    siblings = [u.sibling for u in n.updates if u.sibling is not None]
    return n.changes == found and all(t.reduces(s, n.axis) for s in siblings) and (n.op == "sum" or not n.updates)


def is_float(t: Terms, x: int, n: Node) -> bool:
    try:
        return not isinstance(n, FloatLiteral) or isinstance(float(n.text), float)
    except ValueError:
        return False


RULES: tuple[SpecRule, ...] = (
    SpecRule("parts first", "A term's parts have smaller ids than the term.", parts_first),
    SpecRule("made once", "Equal nodes are one term.", made_once),
    SpecRule("own axes", "The axes of a term are those of its parts, less the one that it binds.", own_axes),
    SpecRule("own front", "The reductions that a term reads are those of its parts, or itself.", own_front),
    SpecRule("flat", "A sum or product has several parts, and none is one of its own kind.", flat),
    SpecRule("constant last", "A sum or product has at most one number, the last part, and not the neutral one.", constant_last),
    SpecRule("in order", "The other parts, and the arguments of a commutative function, are in the order of their ids.", in_order),
    SpecRule("like terms", "The summands differ in more than a number, and have no common coefficient.", like_terms),
    SpecRule("masks outside", "A mask by -inf stands outside sums, positive multiples and exponentials.", masks_outside),
    SpecRule("booleans once", "A 0/1 factor stands once in a product.", booleans_once),
    SpecRule("carried out", "Inverses, exponentials, roots and selections of what decides them are carried out.", carried_out),
    SpecRule("binds", "The body of a reduction varies along the axis that it binds.", binds),
    SpecRule("stripped", "Numbers and sizes stand outside a sum.", stripped),
    SpecRule("updates fit", "The updates of a carried sum read its changes and sums over the same axis.", updates_fit),
    SpecRule("is float", "A literal's text is a float.", is_float),
)  # fmt: skip


def broken(t: Terms, xs: Iterable[int] | None = None) -> Iterator[tuple[SpecRule, int]]:
    """Every rule that a term breaks, of all terms of the arena or of some."""
    for x in range(len(t.nodes)) if xs is None else xs:
        n = t.node(x)
        yield from ((rule, x) for rule in RULES if not rule.holds(t, x, n))


def check(t: Terms, xs: Iterable[int] | None = None) -> None:
    """Raises IllFormed, with the rule and the term, where a term breaks one."""
    for rule, x in broken(t, xs):
        raise IllFormed(f"term {x} = {t.show(x, 4)}: {rule.name}: {rule.statement}")
