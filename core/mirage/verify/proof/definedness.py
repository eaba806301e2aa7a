"""Definedness of terms: no root of a negative number, no division by zero, no logarithm of what is not positive.

Two terms that are equal wherever both are defined are not the same function: sqrt(a) sqrt(b) has no value where sqrt(ab)
has one. A proof therefore also shows that the one is defined wherever the other is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mirage.meaning.nodes import Apply, Mul
from mirage.meaning.normal_form import Normalizer, TooLarge
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import BLOCK, is_flag
from mirage.operators.signs import ANY, SIGN_WORDS, Signs
from mirage.verify.proof.signs import SignAnalysis

VALUED = ANY  # no sign is needed, only a value
WORDS = SIGN_WORDS | {VALUED: "has a value"}


@dataclass(frozen=True)
class DomainCondition:
    """The term `argument` has one of these signs, at every index where all of `guards` hold: pairs of a boolean term
    and the value it has there. A guard comes of `where` and of 0/1 factors, which leave out what they do not select."""

    signs: Signs
    argument: int
    guards: frozenset[tuple[int, bool]] = frozenset()

    def show(self, t: Terms) -> str:
        where = "".join(f" where {'' if held else 'not '}{t.show(c, 4)}" for c, held in sorted(self.guards))
        return f"{t.show(self.argument, 6)} {WORDS[self.signs]}{where}"


def needs(t: Terms, x: int) -> list[tuple[Signs, int]]:
    """For `x` to be defined, besides its parts: (signs, term) for each term that must have one of these signs. Of an
    operator whose domain is not known, that it has a value at all (`VALUED`)."""
    entry = BLOCK.get(t.operator(x))
    if entry is None and not isinstance(t.node(x), Apply):
        return []
    if entry is None or entry.domain is None:
        return [(VALUED, x)]
    return list(entry.domain(t, *t.kids(x)))


def conditions(t: Terms, x: int, signs: SignAnalysis) -> frozenset[DomainCondition]:
    """The conditions for `x` to be defined, without those that always hold."""
    out: set[DomainCondition] = set()
    start: tuple[int, frozenset[tuple[int, bool]]] = (x, frozenset())
    seen, todo = {start}, [start]
    while todo:
        y, guards = todo.pop()
        out |= {
            DomainCondition(wanted, z, guards)
            for wanted, z in needs(t, y)
            if wanted == VALUED or not signs.of(z) <= wanted
        }
        n, kids = t.node(y), t.kids(y)
        below = [(k, guards) for k in kids]
        match n:
            case Apply("where", (c, chosen, other)):
                below = [(c, guards), (chosen, guards | {(c, True)}), (other, guards | {(c, False)})]
            case Apply(name) if is_flag(name):  # a comparison with what has no value is false, and has a value itself
                below = [(k, guards | {(y, True)}) for k in kids]
            case Mul(parts) if any(t.is_boolean(k) for k in parts):
                more = guards | {(k, True) for k in parts if t.is_boolean(k)}
                below = [(k, guards if t.is_boolean(k) else more) for k in parts]
        for following in below:
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return frozenset(out)


class Keys:
    """Terms by their normal forms, so that conditions on equal terms are one."""

    def __init__(self, normal: Normalizer) -> None:
        self.normal = normal

    def of(self, x: int) -> tuple[str, int]:
        try:
            return "normal", self.normal.intern(self.normal.of(x))
        except TooLarge:
            return "term", x

    def guards(self, c: DomainCondition) -> frozenset[tuple[tuple[str, int], bool]]:
        return frozenset((self.of(g), held) for g, held in c.guards)


def unexplained(
    normal: Normalizer, wanted: Iterable[DomainCondition], given: Iterable[DomainCondition]
) -> list[DomainCondition]:
    """The conditions of `wanted` that none of `given` says: the same term, no more signs, no more guards."""
    keys = Keys(normal)
    known: dict[tuple[str, int], list[DomainCondition]] = {}
    for c in given:
        known.setdefault(keys.of(c.argument), []).append(c)
    return [
        c for c in wanted
        if not any(
            g.signs <= c.signs and keys.guards(g) <= keys.guards(c) for g in known.get(keys.of(c.argument), ())
        )
    ]  # fmt: skip
