"""The prover: shows that two terms are equal for all inputs and all sizes.

Its routes, from the cheapest: the normal form, the axioms applied from left to right, denominators cleared, z3. No answer is
no proof. Equal values are not enough: the second term must also be defined wherever the first is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from mirage.meaning.laws import DEFINITION, REWRITING, SOLVER, Law, Use, used_by
from mirage.meaning.nodes import Index, Reduce, Size
from mirage.meaning.normal_form import Normalizer, TooLarge
from mirage.meaning.terms import Terms
from mirage.operators.signs import NONNEGATIVE, NONZERO, POSITIVE, Signs
from mirage.verify.field.sampling import shapes_of
from mirage.verify.proof.definedness import DomainCondition, conditions, unexplained
from mirage.verify.proof.fractions import cleared
from mirage.verify.proof.law_language import ReadLaw, read_law
from mirage.verify.proof.rewriting import Rewriter
from mirage.verify.proof.signs import SignAnalysis
from mirage.verify.proof.smt import Query
from mirage.verify.proof.work_budget import WORK, WorkBudget
from mirage.verify.semantics.evaluate_terms import ExecutionFault, evaluate_terms
from mirage.verify.semantics.float64 import Floats

DEPTH = 2  # of sums whose bodies are proved equal first
RELATION: dict[Signs, str] = {NONNEGATIVE: ">=", POSITIVE: ">", NONZERO: "!="}


@dataclass
class Proof:
    """How two terms were proved equal: the route, the axioms and rules that were applied or given, the conditions under
    which both are defined."""

    route: str
    laws: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass
class Prover:
    """Proofs about the terms of one arena. `given`: signs that inputs are known to have. `rules` are the user's; `work`: for the
    values of one pair of terms, and again for where they are defined, z3's share included."""

    t: Terms
    given: dict[str, Signs] = field(default_factory=dict)
    rules: Sequence[Law] = ()
    work: int = WORK

    def __post_init__(self) -> None:
        self.normal = Normalizer(self.t)
        self.signs = SignAnalysis(self.t, self.given)
        self._laws: dict[tuple[Use, ...], list[ReadLaw]] = {}

    def laws(self, *uses: Use) -> list[ReadLaw]:
        """The user's rules, then the laws of these uses."""
        if uses not in self._laws:
            rows = (*self.rules, *(law for use in uses for law in used_by(use)))
            self._laws[uses] = [read_law(self.t, a.name, a.text) for a in rows]
        return self._laws[uses]

    def equal(self, a: int, b: int, *, both: bool = False) -> Proof | None:
        """A proof that b has the value of a wherever a is defined (`both`: and that a is defined wherever b is)."""
        start = time.thread_time()
        proof = self._values(a, b, WorkBudget(self.work), DEPTH)
        if proof is None:
            return None
        if a != b and not (self._defined(a, b) and (not both or self._defined(b, a))):
            return None
        proof.where = tuple(sorted(c.show(self.t) for c in conditions(self.t, a, self.signs)))
        proof.seconds = time.thread_time() - start
        return proof

    # ---- values
    def _values(self, a: int, b: int, budget: WorkBudget, depth: int) -> Proof | None:
        if self.normal.equal(a, b):
            return Proof("normal form")
        if budget.spent or not self.plausible(a, b):
            return None
        for x, y, used in self.rewritten(a, b, budget):
            if self.normal.equal(x, y):
                return Proof("axioms", used)
            if self.vanishes(x, y):
                return Proof("fractions", used)
        if depth:
            joined = self._bodies(x, y, budget, depth)
            if joined is not None:
                z, more = joined
                used = tuple(sorted({*used, *more}))
                if self.normal.equal(z, y) or self.vanishes(z, y):
                    return Proof("fractions", used)
                x = z
        if budget.spent:
            return None
        query = Query(self.t, self.normal, self.signs, self.laws(SOLVER), self._domain(x, y), budget)
        if query.holds(x, "==", y):
            return Proof("z3", tuple(sorted({*used, *query.used})))
        return None

    def rewritten(self, a: int, b: int, budget: WorkBudget) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Both terms with the laws applied, and which: first without the definitions, which hide what is known of an
        order (a tanh grows) and of signs (an absolute value is not negative), then with them."""
        used: set[str] = set()
        for uses in ((REWRITING,), (REWRITING, DEFINITION)):
            rewriter = Rewriter(self.t, self.laws(*uses), self.signs, self.normal, budget)
            a, b = rewriter.rewrite(a), rewriter.rewrite(b)
            used |= rewriter.used
            yield a, b, tuple(sorted(used))

    def vanishes(self, a: int, b: int) -> bool:
        """True if the difference is zero when its denominators are cleared."""
        try:
            difference = self.normal.plus([self.normal.of(a), self.normal.scale(self.normal.of(b), Fraction(-1))])
            return not cleared(self.normal, difference)
        except TooLarge:
            return False

    def _bodies(self, x: int, y: int, budget: WorkBudget, depth: int) -> tuple[int, set[str]] | None:
        """`x` with its sums and maxima replaced by those of `y` whose bodies are proved equal."""
        t, swap, used = self.t, {}, set()
        theirs = [(s, m) for s in sorted(t.front(y)) if not (m := t.reduction(s)).updates]
        for r in sorted(t.front(x)):
            n = t.reduction(r)
            for s, m in theirs:
                if r == s or n.updates or (n.op, n.axis) != (m.op, m.axis) or budget.spent:
                    continue
                proof = self._values(n.body, m.body, budget, depth - 1)
                if proof is not None and self._same_domain(n.body, m.body):
                    swap[r] = s
                    used |= set(proof.laws)
                    break
        return (self._replaced(x, swap), used) if swap else None

    def _replaced(self, x: int, swap: dict[int, int]) -> int:
        if x in swap:
            return swap[x]
        t = self.t
        if isinstance(t.node(x), Reduce) or not t.kids(x):
            return x
        return t.rebuild(x, tuple(self._replaced(k, swap) for k in t.kids(x)))

    def plausible(self, a: int, b: int) -> bool:
        """True if the two agree at a few points in float64, at one of which both have a value. This proves nothing; it spares
        the search for a proof, and keeps what has a value nowhere from being equal to everything."""
        t = self.t
        dims = tuple(sorted(t.dims(a) | t.dims(b)))
        axes = {x for r in (a, b) for y in t.walk(r) for x in self._axes(y)} | set(dims)
        sizes = {x: 2 + i % 2 for i, x in enumerate(sorted(axes))}
        rng = np.random.default_rng(0)
        inputs: dict[str, Any] = {}
        for name, shape in shapes_of(t, [a, b], sizes).items():
            full = (8, *shape)
            value = rng.standard_normal(full)
            value[:4] = np.abs(value[:4]) + 0.25
            signs = self.given.get(name)
            if signs is not None:
                value = np.abs(value) * (1 if 1 in signs else -1) if signs != NONZERO else value
            inputs[name] = rng.integers(0, 2, full).astype(bool) if name in t.bool_inputs else value
        try:
            x, y = evaluate_terms(t, [(a, dims), (b, dims)], inputs, Floats(), sizes)
        except (ExecutionFault, TypeError, ValueError, KeyError, IndexError):
            return False  # a malformed term has no value
        x, y = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        known = np.isfinite(x) & np.isfinite(y)
        scale = 1e-6 * (1 + np.abs(x[known]) + np.abs(y[known]))
        return bool(known.any()) and bool((np.abs(x[known] - y[known]) <= scale).all())

    def _axes(self, x: int) -> frozenset[str]:
        match self.t.node(x):
            case Index(axes):
                return frozenset(axes)
            case Reduce(axis=axis) | Size(axis):
                return self.t.dims(x) | {axis}
        return self.t.dims(x)

    # ---- where they are defined
    def _domain(self, *xs: int) -> list[DomainCondition]:
        return sorted(set().union(*(conditions(self.t, x, self.signs) for x in xs)), key=lambda c: c.argument)

    def _same_domain(self, a: int, b: int) -> bool:
        return self._defined(a, b, quick=True) and self._defined(b, a, quick=True)

    def alike_defined(self, *pairs: tuple[int, int]) -> bool:
        """True if of each pair both terms are known to be defined at the same points, without z3."""
        return all(self._same_domain(a, b) for a, b in pairs)

    def _defined(self, a: int, b: int, quick: bool = False) -> bool:
        """True if `b` is known to be defined wherever `a` is."""
        given = conditions(self.t, a, self.signs)
        missing = unexplained(self.normal, conditions(self.t, b, self.signs), given)
        if not missing:
            return True
        if quick:
            return False
        budget = WorkBudget(self.work)
        for c in missing:
            if budget.spent or c.guards or c.signs not in RELATION:
                return False
            query = Query(self.t, self.normal, self.signs, self.laws(SOLVER), given, budget)
            if not query.holds(c.argument, RELATION[c.signs], self.t.const(0)):
                return False
        return True
