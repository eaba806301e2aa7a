"""Finds the steps by which the checker's laws make the difference of two terms zero.

Nothing here is trusted: each step is applied by the checker's own code as it is found, and only what that gives is built on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from mirage_certificate.laws import CLEARED
from mirage_certificate.polynomials import ONE, ZERO, Book, Mono, Poly, Refused
from mirage_certificate.replay import STRONGER, Condition, Facts, Reason, Step, applied, known, sign_says

FUEL = 600  # steps of one proof
EMPTY: frozenset[str] = frozenset()


class StepFinder:
    """Proofs over the atoms of one book. Levels: the laws of sums, exponentials and maxima; those of roots and other
    functions too; denominators multiplied out too."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.facts: Facts = frozenset()

    def prove(self, difference: Poly, facts: Facts = frozenset()) -> tuple[Step, ...] | None:
        """Steps from the difference to zero where the facts hold; None if none were found."""
        self.facts = facts
        self.book.work = 0  # the limit is on a certificate's replay, and the search tries more
        for level in (1, 2, 3):
            try:
                left, steps = self.simplified(difference, level)
            except Refused:
                continue
            if left == ZERO:
                return self.shortened(difference, steps)
        return None

    def reason(self, wanted: Sequence[Condition], given: Sequence[Condition]) -> Reason | None:
        """Why a condition on a term holds, whatever the guards of `wanted`; None if no reason was found."""
        c = wanted[0]
        if sign_says(self.book, c):
            return Reason(c)
        common = frozenset[str]().union(*(w.bound for w in wanted))
        facts = known(given, common, self.book)
        for source in sorted({g.term for g in given if g.needs in STRONGER[c.needs]}, key=lambda p: p != c.term):
            bound = common & self.book.axes(source)
            enough = [g for g in given if g.term == source and g.needs in STRONGER[c.needs] and bound <= g.bound]
            if not all(any(g.guards <= w.guards for g in enough) for w in wanted):
                continue
            for factor in self._factors(c.term, source):
                steps = self.prove(self.book.minus(c.term, self.book.times(factor, source)), facts)
                if steps is not None:
                    return Reason(c, source, factor, steps)
        return None

    def _factors(self, p: Poly, q: Poly) -> Iterator[Poly]:
        """What `p` may be `q` times: 1, and the quotient of both as simplified where each is one product."""
        yield ONE
        try:
            (left, _), (right, _) = self.simplified(p), self.simplified(q)
            if len(left) == len(right) == 1:
                quotient = self.quotient(left, right)
                if self.book.sign(quotient) == 2:
                    yield quotient
        except Refused:
            return

    def quotient(self, p: Poly, q: Poly) -> Poly:
        """A polynomial over a product, whose factors cancel where they stand in every term."""
        ((below, c),) = q
        out: list[Poly] = []
        for m, k in p:
            powers = dict(m)
            over = [(a, e - powers.get(a, 0)) for a, e in below if e > powers.get(a, 0) >= 0]
            for a, e in below:
                powers[a] = max(0, powers.get(a, 0) - e) if e > 0 else powers.get(a, 0) - e
            kept = tuple(sorted((a, e) for a, e in powers.items() if e))
            out.append(self.book.times(self.product(kept, k / c), self.book.inverse(self.product(tuple(over)))))
        return self.book.plus(*out)

    def simplified(self, p: Poly, level: int = 1) -> tuple[Poly, tuple[Step, ...]]:
        """`p` with no law of the level left to apply, and the steps to it. Raises Refused where that grows too large."""
        steps: list[Step] = []
        while p != ZERO:
            before = p
            for a in self.inside(p):
                for step in self.proposed(a, p, level):
                    after = self.tried(p, step)
                    if after is not None:
                        p = after
                        steps.append(step)
                        break
                if len(steps) > FUEL:
                    raise Refused("too many steps")
                if p == ZERO:
                    break
            if p == before:
                break
        return p, tuple(steps)

    def tried(self, p: Poly, step: Step) -> Poly | None:
        try:
            return applied(self.book, p, step, self.facts)
        except Refused:
            return None

    def shortened(self, difference: Poly, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """The steps without those that the others do not need, so that each of them counts."""
        i = 0
        while i < len(steps):
            fewer = steps[:i] + steps[i + 1 :]
            p: Poly | None = difference
            for step in fewer:
                p = self.tried(p, step) if p is not None else None
            if p == ZERO:
                steps = fewer
            else:
                i += 1
        return steps

    def inside(self, p: Poly) -> list[int]:
        """The atoms of a polynomial, each after those inside it."""
        out: dict[int, None] = {}

        def visit(p: Poly) -> None:
            for m, _ in sorted(p):
                for a, _ in m:
                    if a not in out:
                        for part in self.book.atoms[a]:
                            if isinstance(part, frozenset) and not all(isinstance(x, str) for x in part):
                                visit(part)
                        out[a] = None

        visit(p)
        return list(out)

    # ---- which laws may apply at an atom
    def proposed(self, a: int, whole: Poly, level: int) -> Iterator[Step]:
        kind, *rest = self.book.atoms[a]
        if kind == "exp":
            yield from self._exponential(a, rest[0], whole)
        elif kind == "sum":
            yield from self._sum(a, rest[0], rest[1])
        elif kind == "max":
            yield from self._maximum(a, rest[0], rest[1])
        elif kind == "inv":
            yield from self._inverse(a, rest[0])
        elif kind == "fn" and rest[0] == "finite":
            yield self.step("guard of a number", a, a=rest[1])
        if level >= 2:
            yield from self._function(a, kind, rest)
        if level >= 3 and kind == "inv":
            yield Step(CLEARED, self.book.of(a))

    def step(self, law: str, at: int, turned: bool = False, /, **letters: object) -> Step:
        return Step(law, self.book.of(at), letters, turned)

    def one(self, p: Poly) -> tuple[Mono, Fraction] | None:
        """The only monomial of a polynomial."""
        return next(iter(p)) if len(p) == 1 else None

    def product(self, m: Mono, c: Fraction | int = 1) -> Poly:
        return frozenset([(m, Fraction(c))])

    def head_and_rest(self, p: Poly) -> dict[str, Poly]:
        first = min(p)
        return {"a": frozenset([first]), "b": p - {first}}

    def _exponential(self, a: int, p: Poly, whole: Poly) -> Iterator[Step]:
        if len(p) > 1:
            yield self.step("exponential of a sum", a, **self.head_and_rest(p))
            return
        ((m, c),) = p
        inner = self.book.only(p)
        if inner is not None and self.book.atoms[inner][:2] == ("fn", "log"):
            yield self.step("exponential of a logarithm", a, a=self.book.atoms[inner][2])
        others = [self.one(self.book.atoms[x][1]) for x in self.inside(whole) if self.book.atoms[x][0] == "exp"]
        alike = [o[1] for o in others if o is not None and o[0] == m]
        below = lcm(*(k.denominator for k in alike))
        unit = Fraction(gcd(*(int(k * below) for k in alike)), below)  # all of them are multiples of it
        if unit not in (0, c):  # an earlier step may have replaced the atom
            yield self.step("exponential of a multiple", a, n=int(c / unit), a=self.product(m, unit))

    def _sum(self, a: int, axes: frozenset[str], p: Poly) -> Iterator[Step]:
        book = self.book
        if len(p) > 1:
            yield self.step("sum of a sum", a, A=axes, **self.head_and_rest(p))
            return
        ((m, c),) = p
        out = tuple(x for x in m if not book.free[x[0]] & axes)
        if out or c != 1:
            stay = tuple(x for x in m if x not in out)
            yield self.step(
                "factor of a sum", a, A=EMPTY, B=axes, c=self.product(out, c), a=self.product(stay)
            )  # fmt: skip
        yield from self._sums_inside(a, axes, m)
        apart = self._component(axes, m)
        if apart is not None:
            mine, own = apart
            rest = tuple(y for y in m if y not in mine)
            yield self.step(
                "factor of a sum", a, A=own, B=axes - own, c=self.product(mine), a=self.product(rest)
            )  # fmt: skip

    def _sums_inside(self, a: int, axes: frozenset[str], m: Mono) -> Iterator[Step]:
        """Sums among the factors of a sum's body join it, where no axis would be captured."""
        book = self.book
        sums = [x for x, e in m if e == 1 and book.atoms[x][0] == "sum"]
        for x in sums:
            _, bound, body = book.atoms[x]
            rest = tuple(y for y in m if y[0] != x)
            taken = axes.union(*(book.free[y] for y, _ in rest), *(book.atoms[y][1] for y in sums if y != x))
            if not bound & taken:
                yield self.step("factor of a sum", a, True, A=axes, B=bound, c=self.product(rest), a=body)

    def _component(self, axes: frozenset[str], m: Mono) -> tuple[Mono, frozenset[str]] | None:
        """The factors that share bound axes with the first one, directly or not, and these axes; None if that is all."""
        own, size = self.book.free[m[0][0]] & axes if m else EMPTY, -1
        while len(own) != size:
            size = len(own)
            own = own.union(*(self.book.free[x] & axes for x, _ in m if self.book.free[x] & own))
        return (tuple(y for y in m if self.book.free[y[0]] & own), own) if own and own != axes else None

    def _maximum(self, a: int, axes: frozenset[str], p: Poly) -> Iterator[Step]:
        book = self.book
        if len(p) > 1:
            free = frozenset((m, c) for m, c in p if not book.axes(self.product(m)) & axes)
            if free:
                yield self.step("term of a maximum", a, A=axes, a=p - free, c=free)
            return
        ((m, c),) = p
        out = tuple(x for x in m if not book.free[x[0]] & axes)
        stay = tuple(x for x in m if x not in out)
        if out or c not in (1, -1):
            yield self.step(
                "factor of a maximum", a, A=axes, c=self.product(out, abs(c)), a=self.product(stay, c / abs(c))
            )
        only = book.only(p)
        if only is not None and book.atoms[only][0] == "exp":
            yield self.step("maximum of exponentials", a, A=axes, a=book.atoms[only][1])

    def _inverse(self, a: int, p: Poly) -> Iterator[Step]:
        """The factors that all terms of the denominator share."""
        powers = [dict(m) for m, _ in p]
        shared = {x: min(q.get(x, 0) for q in powers) for q in powers for x in q if not self.book.is_flag(x)}
        common = tuple(sorted((x, e) for x, e in shared.items() if e))
        if common and len(p) > 1:
            c = self.product(common)
            yield self.step("inverse of a product", a, a=c, b=self.quotient(p, c))

    def _function(self, a: int, kind: str, rest: list[Any]) -> Iterator[Step]:
        if kind == "sqrt":
            yield self.step("square of a root", a, a=rest[0])
            found = self.one(rest[0])
            if found is not None and found[1] == 1 and all(e % 2 == 0 for _, e in found[0]):
                half = tuple((x, e // 2) for x, e in found[0])
                yield self.step("root of a square", a, a=self.product(half))
            yield from self._of_product(a, rest[0], ("root of a product",))
            yield from self._of_atom(a, rest[0], {"exp": "root of an exponential"})
            return
        if kind != "fn":
            return
        called, *args = rest
        x = args[0]
        if called in ("sigmoid", "tanh"):
            yield self.step(str(called), a, a=x)
        elif called == "log":
            yield from self._of_atom(a, x, {"exp": "logarithm of an exponential", "sqrt": "logarithm of a root"})
            yield from self._of_product(a, x, ("logarithm of a product",))
        elif called == "abs":
            yield self.step("what is not negative", a, a=x)
            yield self.step("what is not positive", a, a=x)
            yield self.step("square of an absolute value", a, a=x)
            yield from self._of_product(a, x, ("absolute value of a product",))
            yield self.step("absolute value by a maximum", a, a=x)
        elif called == "minimum":
            yield self.step("minimum by a maximum", a, a=x, b=args[1])
        elif called == "maximum":
            for one, other in (args, reversed(args)):
                yield self.step("the greater of two", a, a=one, b=other)
                inner = self.book.only(other)
                if inner is not None and self.book.atoms[inner][:2] == ("fn", "maximum"):
                    for b in self.book.atoms[inner][2:]:
                        yield self.step("maximum within a maximum", a, a=one, b=b)
        elif called in ("erf", "sin", "cos") and min(x)[1] < 0:
            law = {"erf": "odd erf", "sin": "odd sine", "cos": "even cosine"}[str(called)]
            yield self.step(law, a, a=self.book.times(self.book.const(-1), x))

    def _of_atom(self, a: int, x: Poly, laws: dict[str, str]) -> Iterator[Step]:
        inner = self.book.only(x)
        if inner is not None and self.book.atoms[inner][0] in laws:
            kind, arg = self.book.atoms[inner]
            yield self.step(laws[kind], a, a=arg)

    def _of_product(self, a: int, x: Poly, laws: tuple[str, ...]) -> Iterator[Step]:
        """A function of a product: the number, then one factor at a time, where it is more than one."""
        found = self.one(x)
        if found is None:
            return
        m, c = found
        parts = [self.product((), c)] if c != 1 else []
        parts += [self.product(((y, e),)) for y, e in m]
        if len(parts) > 1:
            for law in laws:
                for part in parts:
                    yield self.step(law, a, a=part, b=self.quotient(x, part))
