"""Laws applied from left to right wherever they match, below sums and maxima too, if their conditions are known to hold."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from mirage.meaning.nodes import Add, FloatLiteral
from mirage.meaning.normal_form import Normalizer
from mirage.meaning.terms import Terms
from mirage.operators.signs import NONNEGATIVE, NONZERO, POSITIVE, Signs
from mirage.verify.proof.definedness import DomainCondition as Defined
from mirage.verify.proof.definedness import conditions, unexplained
from mirage.verify.proof.law_language import Comparison, ReadLaw
from mirage.verify.proof.matching import Match, Matcher
from mirage.verify.proof.signs import SignAnalysis

RELATIONS: dict[str, Signs] = {
    "==": frozenset((0,)), "!=": NONZERO, ">=": NONNEGATIVE, ">": POSITIVE,
    "<=": frozenset((-1, 0)), "<": frozenset((-1,)),
}  # fmt: skip
STEPS = 200


@dataclass
class Rewriter:
    """`laws` in order of preference, their terms in `t`. `used` collects the names of those that were applied."""

    t: Terms
    laws: Sequence[ReadLaw]
    signs: SignAnalysis
    normal: Normalizer
    until: float = float("inf")
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.matcher = Matcher(self.t)
        self._done: dict[int, int] = {}
        self._steps = 0

    def rewrite(self, x: int) -> int:
        """`x` with no law left to apply, or as far as the limits on steps and time go: equal to `x` where `x` is defined."""
        found = self._done.get(x)
        if found is not None:
            return found
        kids = self.t.kids(x)
        n = self.t.node(x)
        if isinstance(n, FloatLiteral):
            return self._literal(x, float(n.text))
        y = self.t.rebuild(x, tuple(self.rewrite(k) for k in kids)) if kids else x
        following = self._step(y)
        while following is not None and self._steps < STEPS and time.thread_time() < self.until:
            self._steps += 1
            y = self.rewrite(following) if following not in self._done else self._done[following]
            following = None
        self._done[x] = y
        return y

    def _literal(self, x: int, value: float) -> int:
        """A literal that stands for the root of a fraction (0.7071067811865476 for sqrt(1/2)), as that root."""
        t = self.t
        square = Fraction(value * value).limit_denominator(10**5) if math.isfinite(value) else Fraction(0)
        if not square or abs(float(square) / (value * value) - 1) > 1e-14:
            return x
        root = t.sqrt(t.const(square))
        self.used.add("literal of a root")
        return root if value > 0 else t.neg(root)

    def _step(self, x: int) -> int | None:
        for law in self.laws:
            for match in self.matcher.find(law.claim.left, x):
                if not self.holds(law, match):
                    continue
                new = self.whole(x, match, self.matcher.fill(law.claim.right, match))
                if new != x:
                    self.used.add(law.name)
                    return new
        return None

    def whole(self, x: int, match: Match, part: int) -> int:
        if not match.rest:
            return part
        return (self.t.add if isinstance(self.t.node(x), Add) else self.t.mul)(part, *match.rest)

    def holds(self, law: ReadLaw, match: Match) -> bool:
        """True if every condition is known, from the signs of terms or because the left side is defined at all."""
        if not law.conditions:
            return True
        left = self.matcher.fill(law.claim.left, match)
        given = conditions(self.t, left, self.signs)
        return all(self._known(c, match, given) for c in law.conditions)

    def _known(self, c: Comparison, match: Match, given: frozenset[Defined]) -> bool:
        a, b = self.matcher.fill(c.left, match), self.matcher.fill(c.right, match)
        allowed = RELATIONS[c.relation]
        if self.signs.of(self.t.sub(a, b)) <= allowed:
            return True
        wanted = Defined(allowed, a)
        return self.t.is_const(b, 0) and not unexplained(self.normal, [wanted], given)
