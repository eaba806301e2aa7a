"""Normal forms with their denominators cleared: equality of fractions, and of what contains square roots.

A difference times its denominators is zero, and no denominator is: so the difference is zero.
"""

from __future__ import annotations

from fractions import Fraction

from mirage.meaning.factors import Factor, Poly, SqrtFactor
from mirage.meaning.normal_form import Normalizer, TooLarge

ROUNDS = 12


def cleared(normal: Normalizer, p: Poly) -> Poly:
    """`p` times the denominators of its terms, squares of roots replaced: zero if and only if `p` is, where `p` is
    defined. Raises TooLarge."""
    for _ in range(ROUNDS):
        p = _roots(normal, p)
        lowest: dict[Factor, int] = {}
        for m, _ in p:
            for f, e in m:
                if e < 0:
                    lowest[f] = min(lowest.get(f, 0), e)
        if not lowest:
            return p
        factor = normal.ordered((f, -e) for f, e in lowest.items())
        p = normal.times(p, frozenset([(factor, Fraction(1))]))
        p = normal.expanded(p)
    raise TooLarge


def _roots(normal: Normalizer, p: Poly) -> Poly:
    """sqrt(a)^2 = a, where sqrt(a) is defined."""
    parts = []
    changed = False
    for m, c in p:
        rest = tuple((f, e) for f, e in m if not isinstance(f, SqrtFactor) or abs(e) < 2)
        out: Poly = frozenset([(rest, c)])
        for f, e in m:
            if not isinstance(f, SqrtFactor) or abs(e) < 2:
                continue
            changed = True
            inside = normal.poly(f.poly)
            inside = inside if e > 0 else normal.invert(inside)
            for _ in range(abs(e) // 2):
                out = normal.times(out, inside)
            if e % 2:
                out = normal.times(out, frozenset([(((f, 1 if e > 0 else -1),), Fraction(1))]))
        parts.append(out)
    return normal.expanded(normal.plus(parts)) if changed else p
