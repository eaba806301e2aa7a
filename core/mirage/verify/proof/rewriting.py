"""Laws applied from left to right wherever they match, below sums and maxima too, if their conditions are known to hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from mirage.meaning.nodes import Add, Const, FloatLiteral, Inv, Sqrt
from mirage.meaning.normal_form import Normalizer
from mirage.meaning.terms import Terms
from mirage.operators.signs import NONNEGATIVE, NONZERO, POSITIVE, Signs
from mirage.verify.proof.definedness import DomainCondition as Defined
from mirage.verify.proof.definedness import conditions, unexplained
from mirage.verify.proof.law_language import Comparison, ReadLaw
from mirage.verify.proof.matching import Match, Matcher
from mirage.verify.proof.signs import SignAnalysis
from mirage.verify.proof.work_budget import STEP, WorkBudget

RELATIONS: dict[str, Signs] = {
    "==": frozenset((0,)), "!=": NONZERO, ">=": NONNEGATIVE, ">": POSITIVE,
    "<=": frozenset((-1, 0)), "<": frozenset((-1,)),
}  # fmt: skip
STEPS = 200
SAME_LITERAL = 1e-14  # relative: a float's last digits


@dataclass(frozen=True)
class LiteralKind:
    """Literals that a function of a fraction is written as: the function, its inverse, how large such a literal and the
    fraction's denominator may be; of `odd` ones the negative is read too."""

    name: str
    value: Callable[[float], float]
    inverse: Callable[[float], float]
    term: Callable[[Terms, int], int]
    low: float
    high: float
    most: int
    odd: bool = False


LITERALS = (
    LiteralKind("literal of a root", math.sqrt, lambda x: x * x, Terms.sqrt, 1e-150, 1e150, 10**5, True),
    LiteralKind("literal of a power of e", math.exp, math.log, Terms.exp, 1e-40, 1e40, 64),
    LiteralKind(
        "literal of a logarithm", lambda q: math.log(q) if q > 0 else math.nan, math.exp, lambda t, q: t.fn("log", q),
        -12.0, 12.0, 1000,
    ),
)  # fmt: skip


@dataclass
class Rewriter:
    """`laws` in order of preference, their terms in `t`. `used` collects the names of those that were applied."""

    t: Terms
    laws: Sequence[ReadLaw]
    signs: SignAnalysis
    normal: Normalizer
    budget: WorkBudget = field(default_factory=WorkBudget)
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.matcher = Matcher(self.t)
        self._done: dict[int, int] = {}
        self._steps = 0

    def rewrite(self, x: int) -> int:
        """`x` with no law left to apply, or as far as the limits on steps and work go: equal to `x` where `x` is defined."""
        found = self._done.get(x)
        if found is not None:
            return found
        kids = self.t.kids(x)
        n = self.t.node(x)
        if isinstance(n, FloatLiteral):
            return self._literal(x, float(n.text))
        y = self._root(self.t.rebuild(x, tuple(self.rewrite(k) for k in kids)) if kids else x)
        following = self._step(y)
        while following is not None and self._steps < STEPS and not self.budget.spent:
            self._steps += 1
            y = self.rewrite(following) if following not in self._done else self._done[following]
            following = None
        self._done[x] = y
        return y

    def _root(self, x: int) -> int:
        """The root of a number, or one over it, as the root of a number that is no square."""
        t, n = self.t, self.t.node(x)
        root = t.node(n.arg) if isinstance(n, Inv) else n
        inside = t.node(root.arg) if isinstance(root, Sqrt) else None
        if not isinstance(inside, Const) or inside.value <= 0:
            return x
        value = 1 / inside.value if isinstance(n, Inv) else inside.value
        up, down = math.isqrt(value.numerator), math.isqrt(value.denominator)
        square = up * up == value.numerator and down * down == value.denominator
        made = t.const(Fraction(up, down)) if square else t.sqrt(t.const(value))
        self.used |= {"root of a number"} if made != x else set()
        return made

    def _literal(self, x: int, value: float) -> int:
        """A literal that stands for a root, a power of e or a logarithm (0.7071067811865476 for sqrt(1/2)), as that."""
        t = self.t
        if not math.isfinite(value) or not value:
            return x
        for kind in LITERALS:
            size = abs(value) if kind.odd else value
            inside = Fraction(kind.inverse(size) if kind.low <= size <= kind.high else 0).limit_denominator(kind.most)
            if not inside or abs(kind.value(float(inside)) / size - 1) > SAME_LITERAL:
                continue
            self.used.add(kind.name)
            made = kind.term(t, t.const(inside))
            return t.neg(made) if size != value else made
        return x

    def _step(self, x: int) -> int | None:
        self.budget.take(STEP)
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
