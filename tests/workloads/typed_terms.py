"""The typed relation: when one term is part of another with sums as binders on named axes, over their normal forms.

It is `abstract_terms.part_of` with indices: sum_d(Q) * K is part of no attention, though sum_d(Q * K) is. p is part of q if
q = p * m + s for a single product m, or p is part of q with one of its sums opened along an axis, or of an argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from mirage.meaning.factors import (
    CallFactor,
    ExpFactor,
    MaxFactor,
    Mono,
    Poly,
    PolyFactor,
    SqrtFactor,
    SumFactor,
)
from mirage.meaning.normal_form import Normalizer, TooLarge
from mirage.meaning.terms import Terms
from workloads.abstract_terms import of_term, part_of

STEPS = 4000  # of one question; beyond it the answer is silence


class Typed:
    """The relation over the terms of one arena."""

    def __init__(self, t: Terms) -> None:
        self.t, self.normal = t, Normalizer(t)
        self._known: dict[tuple[Poly, Poly], bool] = {}
        self._steps = 0

    def part_of(self, x: int, y: int) -> bool | None:
        """Is `x` part of `y`? None where the normal form is too large to say.

        It refines the untyped relation and asks that one first: the normal form cancels (x / x is 1, and 1 is part of all),
        the axioms do not."""
        self._steps = 0
        if not part_of(of_term(self.t, x), of_term(self.t, y)):
            return False
        try:
            return self.within(self.normal.of(x), self.normal.of(y))
        except TooLarge:
            return None

    def within(self, p: Poly, q: Poly) -> bool:
        if p == q:
            return True
        key = p, q
        if key not in self._known:
            self._steps += 1
            if self._steps > STEPS:
                raise TooLarge
            self._known[key] = self._scaled(p, q) or any(
                self.within(p, inner) for inner in (*self._opened(q), *self._arguments(q))
            )
        return self._known[key]

    def _scaled(self, p: Poly, q: Poly) -> bool:
        """Is p * m a part of the sum q, for a product m?"""
        if not p:
            return False
        first, c = self.normal.terms(p)[0]
        for mono, k in q:
            factor = self._quotient(mono, first)
            if factor is not None and self.normal.times(p, frozenset([(factor, k / c)])) <= q:
                return True
        return False

    def _quotient(self, mono: Mono, part: Mono) -> Mono | None:
        """The product m with part * m = mono, without cancellation."""
        powers = {f: e for f, e in mono if not isinstance(f, ExpFactor)}
        for f, e in part:
            if isinstance(f, ExpFactor):
                continue
            left = powers.get(f, 0)
            if left * e < 0 or abs(left) < abs(e):
                return None
            powers[f] = left - e
        above, below = self._exponents(mono), self._exponents(part)
        if not below <= above:
            return None
        out: Mono = tuple((f, e) for f, e in powers.items() if e)
        rest: Poly = above - below
        if rest:
            out = (*out, (self.normal.exp_of(rest), 1))
        return self.normal.monos(out, ())

    def _exponents(self, m: Mono) -> Poly:
        return frozenset().union(*(self.normal.poly(f.poly) for f, _ in m if isinstance(f, ExpFactor)))

    def _opened(self, q: Poly) -> Iterator[Poly]:
        """`q` with one of its sums opened along an axis in every product that has one."""
        axes = {a for m, _ in q for f, _ in m if isinstance(f, SumFactor) for a in f.axes}
        for axis in sorted(axes):
            choices: list[list[Poly]] = []
            for m, c in q:
                having = [i for i, (f, e) in enumerate(m) if isinstance(f, SumFactor) and axis in f.axes and e > 0]
                opened = [self._open(m, c, i, axis) for i in having]
                if opened:
                    choices.append(opened)
            for some in product(*choices):
                yield self.normal.plus(list(some))

    def _open(self, m: Mono, c: Fraction, place: int, axis: str) -> Poly:
        """The product with one factor sum_B(inner) as sum_(B - axis)(inner)."""
        f, e = m[place]
        assert isinstance(f, SumFactor)
        body: Poly = frozenset([(f.body, Fraction(1))])
        for a in sorted(f.axes - {axis}):
            body = self.normal.bind(a, body)
        rest = tuple(x for i, x in enumerate(m) if i != place) + (((f, e - 1),) if e > 1 else ())
        return self.normal.times(frozenset([(rest, c)]), body)

    def _arguments(self, q: Poly) -> Iterator[Poly]:
        """What stands under an exponential, a root, a fraction line, a maximum or a function."""
        for m, _ in q:
            for f, e in m:
                match f:
                    case ExpFactor(poly) | SqrtFactor(poly) | PolyFactor(poly) | MaxFactor(_, poly):
                        yield self.normal.poly(poly)
                    case CallFactor(_, args):
                        yield from map(self.normal.poly, args)
                if e < 0 and not isinstance(f, PolyFactor):
                    yield frozenset([(((f, -e),), Fraction(1))])
