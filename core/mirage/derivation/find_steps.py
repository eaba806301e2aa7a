"""Finds the steps between two equal terms: equal parts are left alone, and the laws are tried from the fewest up.

Both terms are brought to one form by the laws of a level, and the steps of the second are turned round. Where no level
suffices the normal form itself is the step, if it holds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from mirage.derivation.laws import STEPS, Args, Broken
from mirage.derivation.replay import Step, SubtermSteps, put, turned
from mirage.meaning.laws import (
    CANCEL,
    DISTRIBUTE,
    EXCHANGE,
    EXP,
    GUARD,
    INSIDE,
    INVERSE,
    LINEAR,
    ORDER,
    PULL,
    SAME_FORM,
)
from mirage.meaning.nodes import Add, Apply, Mul, Node, Reduce
from mirage.meaning.normal_form import Normalizer
from mirage.meaning.terms import Terms

Steps = tuple[Step, ...]
JOIN = "join"  # the laws that put nested sums in one order
LEVELS: tuple[tuple[str, ...], ...] = (
    (PULL,),
    (GUARD, PULL),
    (GUARD, EXP, INVERSE, CANCEL, PULL),
    (GUARD, EXP, INVERSE, CANCEL, PULL, JOIN),
    (GUARD, EXP, INVERSE, CANCEL, DISTRIBUTE, LINEAR, PULL),
    (GUARD, EXP, INVERSE, CANCEL, DISTRIBUTE, LINEAR, PULL, JOIN),
)
FUEL = 400  # laws applied while one term is brought to the form of a level


class NoProof(Exception):
    """No steps were found."""


def late(axis: str) -> str:
    """The order of nested sums: by name, and the axis within a part after the axis of the parts."""
    return axis.replace(".", "~")


@dataclass
class LevelForm:
    """Brings terms to the form of one level."""

    t: Terms
    level: tuple[str, ...]
    memo: dict[int, tuple[int, Steps]] = field(default_factory=dict)
    fuel: int = FUEL

    def of(self, x: int) -> tuple[int, Steps]:
        if x not in self.memo:
            self.memo[x] = self._of(x)
        return self.memo[x]

    def _of(self, x: int) -> tuple[int, Steps]:
        t, steps, here = self.t, [], x
        parts = tuple(SubtermSteps(k, *self.of(k)) for k in dict.fromkeys(t.kids(x)))
        parts = tuple(p for p in parts if p.after != p.before)
        if parts:
            here = put(t, x, parts)
            steps.append(Step(INSIDE, x, here, True, (), parts))
        for name in self.level:
            step = self.join(here) if name == JOIN else self.root(name, here)
            if step is None:
                continue
            self.fuel -= 1
            if self.fuel < 0:
                raise NoProof("too many steps")
            if name == JOIN:
                self.memo[step.after] = step.after, ()
            end, more = self.of(step.after)
            return end, (*steps, step, *more)
        if here != x:
            self.memo[here] = here, ()
        return here, tuple(steps)

    def root(self, name: str, x: int) -> Step | None:
        args: Args = ()
        try:
            y = STEPS[name].apply(self.t, x, args)
        except Broken:
            return None
        return Step(name, x, y, True, args) if y != x else None

    # ---- nested sums
    def chain(self, x: int) -> tuple[list[str], int]:
        """The axes of sums directly inside each other, and the innermost body."""
        axes = []
        while isinstance(n := self.t.node(x), Reduce) and n.op == "sum":
            axes.append(n.axis)
            x = n.body
        return axes, x

    def bound(self, x: int) -> set[str]:
        """The axes of the sums that `x` begins with."""
        axes, _ = self.chain(x)
        return set(axes)

    def join(self, x: int) -> Step | None:
        """Sums that are factors of a sum's body join it, sums inside each other come in the order of their axes, and what
        varies along none of the axes leaves."""
        if not self.t.is_sum(x):
            return None
        here, steps = x, []
        for _ in range(FUEL):
            step = self.deepen(here) or self.ordered(here) or self.simplified(here)
            if step is None:
                break
            steps.append(step)
            here = step.after
        return Step(ORDER, x, here, True, (), (SubtermSteps(x, here, tuple(steps)),)) if steps else None

    def under(self, x: int, depth: int, step: Step) -> Step:
        """A step at the body of the sum `depth` sums down."""
        if depth == 0:
            return step
        body = self.t.reduction(x).body
        inner = self.under(body, depth - 1, step)
        part = SubtermSteps(body, inner.after, (inner,))
        return Step(INSIDE, x, put(self.t, x, (part,)), True, (), (part,))

    def deepen(self, x: int) -> Step | None:
        """A sum among the factors of the innermost body becomes the innermost sum."""
        t = self.t
        axes, body = self.chain(x)
        inside = t.factors(body)
        if len(inside) < 2:
            return None
        for f in dict.fromkeys(inside):
            n = t.node(f)
            if not isinstance(n, Reduce) or n.op != "sum" or inside.count(f) > 1:
                continue
            rest = [g for g in inside if g != f]
            bound = self.bound(f)
            taken = set(axes).union(*(t.dims(g) for g in rest), *map(self.bound, rest))
            if bound & taken or not t.dims(f) & set(axes):
                continue
            step = Step(PULL, body, t.sum(n.axis, t.mul(*rest, n.body)), False, tuple(rest))
            if self.holds(step):
                return self.under(x, len(axes), step)
        return None

    def holds(self, s: Step) -> bool:
        try:
            return STEPS[s.law].apply(self.t, s.after, s.args) == s.before
        except Broken:
            return False

    def ordered(self, x: int) -> Step | None:
        axes, _ = self.chain(x)
        for i in range(len(axes) - 1):
            if late(axes[i]) > late(axes[i + 1]):
                at = x
                for _ in range(i):
                    at = self.t.reduction(at).body
                return self.under(x, i, Step(EXCHANGE, at, STEPS[EXCHANGE].apply(self.t, at, ()), True))
        return None

    def simplified(self, x: int) -> Step | None:
        """The innermost product after a join: what cancels goes, what is free of a sum and of all inside it leaves it."""
        t = self.t
        axes, body = self.chain(x)
        step = self.root(CANCEL, body)
        if step is not None:
            return self.under(x, len(axes), step)
        at = x
        places = []
        for _ in axes:
            places.append(at)
            at = t.reduction(at).body
        for depth in reversed(range(len(axes))):
            here = t.reduction(places[depth]).body
            free = [f for f in t.factors(here) if not t.dims(f) & set(axes)]
            if free and len(free) < len(t.factors(here)):
                after = STEPS[PULL].apply(t, places[depth], tuple(free))
                return self.under(x, depth, Step(PULL, places[depth], after, True, tuple(free)))
        return None


def operator(n: Node) -> tuple[str, ...]:
    """The operation of a node on its parts."""
    match n:
        case Reduce(op, axis):
            return n.kind, op, axis
        case Apply(name):
            return n.kind, name
    return (n.kind,)


class DerivationFinder:
    """Proofs over one arena, with what was found kept."""

    def __init__(self, t: Terms) -> None:
        self.t = t
        self.normal = Normalizer(t)
        self._forms = [LevelForm(t, level) for level in LEVELS]
        self._found: dict[tuple[int, int], Steps | None] = {}

    def prove(self, a: int, b: int) -> Steps:
        """Steps from `a` to `b`. Raises NoProof."""
        steps = self._try(a, b)
        if steps is None:
            if not self.normal.equal(a, b):
                raise NoProof("the terms have different normal forms")
            steps = (Step(SAME_FORM, a, b, True, (b,)),)
        return steps

    def _try(self, a: int, b: int) -> Steps | None:
        if a == b:
            return ()
        key = (a, b)
        if key not in self._found:
            self._found[key] = self._congruent(a, b) or self._by_levels(a, b)
        return self._found[key]

    def _by_levels(self, a: int, b: int) -> Steps | None:
        for form in self._forms:
            form.fuel = FUEL
            try:
                (x, first), (y, second) = form.of(a), form.of(b)
            except NoProof:
                continue
            if x == y:
                return first + turned(second)
        return None

    def _congruent(self, a: int, b: int) -> Steps | None:
        """Steps at the parts alone, where the two terms have the same operator."""
        pairs = self._pairs(a, b)
        parts = []
        for x, y in pairs or ():
            steps = self._try(x, y)
            if steps is None:
                return None
            parts.append(SubtermSteps(x, y, steps))
        if not parts or put(self.t, a, tuple(parts)) != b:
            return None
        return (Step(INSIDE, a, b, True, (), tuple(parts)),)

    def _pairs(self, a: int, b: int) -> list[tuple[int, int]] | None:
        t = self.t
        m, n = t.node(a), t.node(b)
        if operator(m) != operator(n):
            return None
        if not isinstance(m, (Add, Mul)):
            pairs = list(zip(m.kids, n.kids, strict=True)) if len(m.kids) == len(n.kids) else []
            pairs = [(x, y) for x, y in dict.fromkeys(pairs) if x != y]
            return pairs if len({x for x, _ in pairs}) == len(pairs) else None
        left, right = Counter(t.kids(a)), Counter(t.kids(b))
        mine, other = list((left - right).elements()), list((right - left).elements())
        if not mine or not other:
            return None
        if len(mine) == len(other):
            matched = self._matched(mine, other)
            if matched is not None:
                return matched
        build = t.add if isinstance(m, Add) else t.mul
        x, y = build(*mine), build(*other)
        return [(x, y)] if x != a else None

    def _matched(self, mine: list[int], other: list[int]) -> list[tuple[int, int]] | None:
        """Operands of one kind and one set of axes belong together where there is one of each."""

        def key(x: int) -> object:
            return operator(self.t.node(x)), self.t.dims(x)

        mine_by, other_by = {key(x): x for x in mine}, {key(y): y for y in other}
        if len(mine_by) < len(mine) or mine_by.keys() != other_by.keys() or len(other_by) < len(other):
            return None
        return [(x, other_by[k]) for k, x in mine_by.items()]
