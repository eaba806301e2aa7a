"""The replay of one equation: the difference of both sides, by one law after the other, becomes zero.

A step names a law, the atom at which it is applied, and the law's letters; the atom is replaced wherever it stands, which is
right since a law holds at every index. A denominator is multiplied out only where it is known not to be 0: by its sign, or
because a side has no value otherwise. Beside the values, the second side must have one wherever the first has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mirage_certificate.laws import CLEARED, LAWS, instance
from mirage_certificate.polynomials import ONE, ZERO, Book, Poly, need

NONZERO, NOT_NEGATIVE, POSITIVE = "is not 0", "is not negative", "is positive"
STRONGER = {NONZERO: {NONZERO, POSITIVE}, NOT_NEGATIVE: {NOT_NEGATIVE, POSITIVE}, POSITIVE: {POSITIVE}}
MOST_CONDITIONS = 2_000
Guards = frozenset[tuple[Poly, bool]]
Facts = frozenset[tuple[str, Poly]]


@dataclass(frozen=True)
class Step:
    """A law of the table at the atom `at`; `turned`: from its right side to its left."""

    law: str
    at: Poly
    letters: Mapping[str, Any] = field(default_factory=dict)
    turned: bool = False


@dataclass(frozen=True)
class Condition:
    """`term` must be what `needs` says for a side to have a value: where all of `guards` hold, at every index of the axes
    `bound`, at the index of the element otherwise."""

    needs: str
    term: Poly
    guards: Guards = frozenset()
    bound: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Reason:
    """Why a condition holds: by its term's sign; or because `source` is needed by the first side, and the term is `factor`
    times that, by `steps`."""

    condition: Condition
    source: Poly | None = None
    factor: Poly = ONE
    steps: tuple[Step, ...] = ()


def applied(book: Book, difference: Poly, step: Step, facts: Facts = frozenset()) -> Poly:
    """The difference after a step. Raises Refused where the step is no instance of its law, or changes nothing."""
    at = book.only(step.at)
    need(at is not None and step.law in {*LAWS, CLEARED}, f"there is no law {step.law[:60]!r}, or no atom for it")
    assert at is not None
    if step.law == CLEARED:
        need(not step.letters and not step.turned, "this law has no letters")
        return _cleared(book, difference, at, facts)
    law = LAWS[step.law]
    old, new = instance(book, law, step.letters, step.turned)
    need(old == step.at, f"{step.law}: the step is at another atom than the law")

    def value(e: int) -> Poly:
        quotient, rest = divmod(e, law.exponent)
        return book.times(book.power(old, rest), book.power(new, quotient))

    after = book.swap(difference, at, value, {})
    need(after != difference, f"{step.law}: the step changes nothing")
    return after


def _cleared(book: Book, difference: Poly, at: int, facts: Facts) -> Poly:
    """A difference times a denominator that is not 0: zero if and only if that was."""
    kind, *rest = book.atoms[at]
    powers = [(dict(m).get(at, 0), m, c) for m, c in difference]
    most = max((e for e, _, _ in powers), default=0)
    need(kind == "inv" and most > 0, "the denominator is not there")
    known = (NONZERO, rest[0]) in facts or (POSITIVE, rest[0]) in facts or sign_says(book, Condition(NONZERO, rest[0]))
    need(known, "the denominator may be 0")
    left = [(frozenset([(tuple(x for x in m if x[0] != at), c)]), most - e) for e, m, c in powers]
    return book.plus(*(book.times(p, book.power(rest[0], e)) for p, e in left))


def known(conditions: Iterable[Condition], bound: frozenset[str], book: Book) -> Facts:
    """The conditions that hold at every index of the axes `bound`, whatever is selected."""
    return frozenset(
        (c.needs, c.term) for c in conditions if not c.guards and not bound & book.axes(c.term) - c.bound
    )  # fmt: skip


def replay(book: Book, difference: Poly, steps: Sequence[Step], facts: Facts) -> None:
    """Raises Refused unless the steps lead from the difference to zero, where the facts hold."""
    for step in steps:
        difference = applied(book, difference, step, facts)
    need(difference == ZERO, "the steps do not make the two sides equal")


def discharge(book: Book, wanted: Iterable[Condition], given: Sequence[Condition], reasons: Sequence[Reason]) -> None:
    """Raises Refused unless each condition has its reason, each reason a condition, and all reasons hold."""
    left = set(wanted)
    for reason in reasons:
        c = reason.condition
        matching = {w for w in left if (w.needs, w.term) == (c.needs, c.term)}
        need(bool(matching), "a side condition that is not needed")
        for w in matching:
            _holds(book, w, given, reason)
        left -= matching
    need(not left, "a side condition without a reason")


def _holds(book: Book, c: Condition, given: Sequence[Condition], reason: Reason) -> None:
    if reason.source is None:
        need(sign_says(book, c), "a side condition that the sign does not show")
        return
    stronger = STRONGER[c.needs]
    bound = c.bound & book.axes(reason.source)
    sources = [g for g in given if g.term == reason.source and g.needs in stronger and g.guards <= c.guards]
    need(any(bound <= g.bound for g in sources), "a side condition rests on what the first side does not need")
    factor = book.sign(reason.factor)
    enough = factor == 2 or (factor == 1 and c.needs == NOT_NEGATIVE) or (reason.factor == ONE)
    need(enough, "a side condition's factor has no known sign")
    facts = known(given, c.bound, book)
    replay(book, book.minus(c.term, book.times(reason.factor, reason.source)), reason.steps, facts)


def sign_says(book: Book, c: Condition) -> bool:
    sign = book.sign(c.term)
    turned = book.sign(book.times(book.const(-1), c.term)) if c.needs == NONZERO else 0
    return sign == 2 or turned == 2 or (sign == 1 and c.needs == NOT_NEGATIVE)
