"""The softmax shift: finds exponentials that may overflow, and subtracts their maximum where the result does not depend on it.

An exp is *bounded* when its argument is B - max(B): at most zero. Where the output does not depend on a shift (softmax
and its kin) the maximum is subtracted; the fingerprint, in which a maximum is an uninterpreted function, decides that.
"""

from __future__ import annotations

from collections.abc import Iterator

from mirage.meaning.fingerprint import Fingerprints
from mirage.meaning.nodes import Add, Apply, Exp, Reduce
from mirage.meaning.terms import Terms


def bounded(t: Terms, prints: Fingerprints, x: int) -> bool:
    """True if `x` = exp(B - max_d(B)), up to the guard for rows without any finite score."""
    arg = t.arg(x)
    if not isinstance(t.node(arg), Add):
        return False
    for k in t.kids(arg):
        n = t.node(unguarded(t, t.neg(k)))
        if isinstance(n, Reduce) and n.op == "max":
            rest = t.add(*[y for y in t.kids(arg) if y != k])
            hit = t.masked(n.body)
            same = (n.body, hit[1]) if hit else (n.body,)
            if rest in same or prints.of(rest) in map(prints.of, same):
                return True
    return False


def unguarded(t: Terms, x: int) -> int:
    """`x` without the guard for rows that have no finite score."""
    n = t.node(x)
    return n.args[0] if isinstance(n, Apply) and n.name == "finite" else x


def unbounded(t: Terms, prints: Fingerprints, x: int) -> set[int]:
    """The exponentials of `x` that may overflow."""
    return {y for y in t.walk(x) if t.kind(y) == "exp" and not bounded(t, prints, y)}


def substitute(t: Terms, x: int, mapping: dict[int, int], memo: dict[int, int] | None = None) -> int:
    """`x` with parts replaced, also inside reductions; a product is also found as part of a larger product."""
    memo = {} if memo is None else memo
    if x in mapping:
        return mapping[x]
    if t.kind(x) == "mul":
        for key in mapping:
            if t.kind(key) == "mul" and set(t.kids(key)) < set(t.kids(x)):
                rest = [k for k in t.kids(x) if k not in t.kids(key)]
                return t.mul(mapping[key], substitute(t, t.mul(*rest), mapping, memo))
    if x not in memo:
        kids = t.kids(x)
        memo[x] = t.rebuild(x, tuple(substitute(t, k, mapping, memo) for k in kids)) if kids else x
    return memo[x]


def guard(t: Terms, x: int) -> int:
    """`x` with every maximum that is subtracted inside an exp made finite: a row of -inf alone then gives 0/0 = NaN as
    before, and a first tile of -inf alone no longer poisons the tiles after it."""
    mapping = {}
    for y in t.walk(x):
        n = t.node(y)
        if not isinstance(n, Exp) or not isinstance(t.node(n.arg), Add):
            continue
        for k in t.kids(n.arg):
            m = t.neg(k)
            if t.is_maximum(m):
                rest = [z for z in t.kids(n.arg) if z != k]
                mapping[y] = t.exp(t.sub(t.add(*rest), t.fn("finite", m)))
    return substitute(t, x, mapping) if mapping else x


def shifts(t: Terms, x: int) -> Iterator[tuple[int, int, int]]:
    """The maxima put in where `x` does not depend on them, one after the other: the exponential, the shift of its argument,
    and `x` with it."""
    prints = Fingerprints(t)
    bound = {t.reduction(r).axis for r in t.closure(x)}
    for y in sorted(unbounded(t, prints, x)):
        arg = t.arg(y)
        for axis in sorted(t.dims(arg) & bound):
            m = t.fn("finite", t.max(axis, arg))
            moved = substitute(t, x, {y: t.exp(t.sub(arg, m))})
            if prints.of(moved) == prints.of(x):
                yield y, m, moved
                x = moved
                break


def insert_shifts(t: Terms, x: int) -> tuple[int, tuple[int, ...]]:
    """`x` with maxima put in where it does not depend on them, and the exponentials' arguments that were shifted."""
    x = guard(t, x)
    arguments: list[int] = []
    for y, _, moved in shifts(t, x):
        x = moved
        arguments.append(t.arg(y))
    return x, tuple(arguments)
