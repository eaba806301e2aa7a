"""The replay of one equation: the difference of both sides, by one law after the other, becomes zero.

A step names a law, the atom at which it is applied, and the law's letters; the atom is replaced wherever it stands, which is
right since a law holds at every index. Beside the values, the second side must have one wherever the first has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mirage_certificate.laws import CLEARED, LAWS, instance
from mirage_certificate.polynomials import FLAGS, ONE, ZERO, Book, Poly, Refused, need

NONZERO, NOT_NEGATIVE, POSITIVE, VALUED = "is not 0", "is not negative", "is positive", "has a value"
STRONGER = {
    NONZERO: {NONZERO, POSITIVE},
    NOT_NEGATIVE: {NOT_NEGATIVE, POSITIVE},
    POSITIVE: {POSITIVE},
    VALUED: {VALUED},
}
ROUNDED = frozenset({"round_fp16", "round_bf16", "round_fp8e4m3", "round_fp8e5m2"})
TOTAL = (
    FLAGS | ROUNDED | {"where", "finite", "sigmoid", "tanh", "erf", "abs", "sin", "cos", "floor", "maximum", "minimum"}
)
MOST_CONDITIONS = 2_000
Guards = frozenset[tuple[Poly, bool]]


@dataclass(frozen=True)
class Step:
    """A law of the table at the atom `at`; `turned`: from its right side to its left."""

    law: str
    at: Poly
    letters: Mapping[str, Any] = field(default_factory=dict)
    turned: bool = False


@dataclass(frozen=True)
class Condition:
    """`term` must be what `needs` says for a side to have a value, at the indices where all of `guards` hold."""

    needs: str
    term: Poly
    guards: Guards = frozenset()


@dataclass(frozen=True)
class Reason:
    """Why a condition holds: by its term's sign; or because `source` is needed by the first side, and the term is `factor`
    times that, by `steps`."""

    condition: Condition
    source: Poly | None = None
    factor: Poly = ONE
    steps: tuple[Step, ...] = ()


def applied(book: Book, difference: Poly, step: Step) -> Poly:
    """The difference after a step. Raises Refused where the step is no instance of its law, or changes nothing."""
    at = book.only(step.at)
    if at is None:
        raise Refused(f"{step.law}: a step at what is no atom")
    if step.law == CLEARED:
        after = _cleared(book, difference, at)
    else:
        law = LAWS.get(step.law)
        if law is None:
            raise Refused(f"there is no law {step.law[:60]!r}")
        found, new = instance(book, law, step.letters, step.turned)
        need(found == at, f"{step.law}: the step is at another atom than the law")
        n = law.exponent

        def value(e: int) -> Poly:
            quotient, rest = divmod(e, n)
            return book.times(book.power(book.of(at), rest), book.power(new, quotient))

        after = book.swap(difference, at, value, {})
    need(after != difference, f"{step.law}: the step changes nothing")
    return after


def _cleared(book: Book, difference: Poly, at: int) -> Poly:
    """A difference times a denominator that is not 0 where both sides have values: zero if and only if that was."""
    kind, *rest = book.atoms[at]
    need(kind == "inv", "what is multiplied out is no inverse")
    powers = [(dict(m).get(at, 0), m, c) for m, c in difference]
    most = max((e for e, _, _ in powers), default=0)
    need(most > 0, "the denominator is not there")
    out: list[Poly] = []
    for e, m, c in powers:
        guarded = e > 0 and any(book.is_flag(a) for a, _ in m)
        need(not guarded, "a denominator that a condition may leave out")
        left: Poly = frozenset([(tuple(x for x in m if x[0] != at), c)])
        out.append(book.times(left, book.power(rest[0], most - e)))
    return book.plus(*out)


def replay(book: Book, difference: Poly, steps: Sequence[Step]) -> None:
    """Raises Refused unless the steps lead from the difference to zero."""
    for i, step in enumerate(steps, 1):
        try:
            difference = applied(book, difference, step)
        except Refused as e:
            raise Refused(f"step {i}: {e}") from None
    need(difference == ZERO, "the steps do not make the two sides equal")


def discharge(book: Book, wanted: Iterator[Condition], given: Sequence[Condition], reasons: Sequence[Reason]) -> None:
    """Raises Refused unless each condition has its reason, each reason a condition, and all reasons hold."""
    left = set(wanted)
    for reason in reasons:
        c = reason.condition
        matching = {w for w in left if (w.needs, w.term) == (c.needs, c.term)}
        need(bool(matching), "a side condition that is not needed")
        for w in matching:
            _holds(book, w, given, reason)
        left -= matching
    for w in left:
        raise Refused(f"a side condition without a reason: a term {w.needs}")


def _holds(book: Book, c: Condition, given: Sequence[Condition], reason: Reason) -> None:
    if reason.source is None:
        need(sign_says(book, c), "a side condition that the sign does not show")
        return
    stronger = STRONGER[c.needs]
    sources = [g for g in given if g.term == reason.source and g.needs in stronger and g.guards <= c.guards]
    need(bool(sources), "a side condition rests on what the first side does not need")
    factor = book.sign(reason.factor)
    enough = factor == 2 or (factor == 1 and c.needs == NOT_NEGATIVE) or (reason.factor == ONE)
    need(enough and (c.needs != VALUED or reason.factor == ONE), "a side condition's factor has no known sign")
    replay(book, book.minus(c.term, book.times(reason.factor, reason.source)), reason.steps)


def sign_says(book: Book, c: Condition) -> bool:
    sign = book.sign(c.term)
    turned = book.sign(book.times(book.const(-1), c.term)) if c.needs == NONZERO else 0
    return c.needs != VALUED and (sign == 2 or turned == 2 or (sign == 1 and c.needs == NOT_NEGATIVE))
