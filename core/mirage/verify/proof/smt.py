"""Equality over the reals by z3: the two terms at one generic index, with the instances of the axioms that match them.

Every polynomial of the normal form becomes one over real variables, a variable an atom; an axiom becomes the implication
"conditions, so claim" for each place where its left side matches. What z3 calls unsatisfiable cannot happen at any index,
for any inputs and any sizes. Unknown, no answer within the work allowed, and a model prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import Any

from mirage.meaning.factors import (
    CallFactor,
    ExpFactor,
    Factor,
    IndexFactor,
    InvFactor,
    LiteralFactor,
    Mono,
    NegInfFactor,
    Poly,
    PolyFactor,
    SizeFactor,
    SqrtFactor,
    is_boolean,
)
from mirage.meaning.nodes import Add, Const, Input, Mul
from mirage.meaning.normal_form import Normalizer, TooLarge
from mirage.meaning.terms import Terms
from mirage.verify.proof.definedness import DomainCondition
from mirage.verify.proof.law_language import Comparison, ReadLaw, letters_of
from mirage.verify.proof.matching import Matcher
from mirage.verify.proof.rewriting import RELATIONS
from mirage.verify.proof.signs import SignAnalysis
from mirage.verify.proof.work_budget import WorkBudget

MOST_INSTANCES, MOST_ATOMS, MOST_POWER, MOST_MONOMIALS = 60, 40, 8, 200
SEED = 1
SIGN = {0: "==", 1: ">", -1: "<"}


class Encoding:
    """Polynomials as z3 terms. `facts` hold at every point where both sides are defined."""

    def __init__(self, normal: Normalizer, exponents: dict[Mono, int]) -> None:
        import z3

        self.z3, self.normal, self.exponents = z3, normal, exponents
        self.facts: list[Any] = []
        self.atoms: dict[Factor, Any] = {}
        self._bases: dict[Mono, Any] = {}
        self._inverses: dict[Factor | Mono, Any] = {}

    def fresh(self) -> Any:
        if len(self.atoms) + len(self._bases) + len(self._inverses) > MOST_ATOMS:
            raise TooLarge
        return self.z3.Real(f"v{len(self.atoms)}_{len(self._bases)}_{len(self._inverses)}")

    def number(self, c: Fraction) -> Any:
        return self.z3.RealVal(str(c))

    def poly(self, p: Poly) -> Any:
        if len(p) > MOST_MONOMIALS:
            raise TooLarge
        total = self.number(Fraction(0))
        for m, c in self.normal.terms(p):
            product = self.number(c)
            for f, e in m:
                if abs(e) > MOST_POWER:
                    raise TooLarge
                v = self.exp(f) if isinstance(f, ExpFactor) else self.atom(f)
                v = v if e > 0 else self.inverse(f, v)
                for _ in range(abs(e)):
                    product = product * v
            total = total + product
        return total

    def atom(self, f: Factor) -> Any:
        if f in self.atoms:
            return self.atoms[f]
        if isinstance(f, PolyFactor):
            return self.poly(self.normal.poly(f.poly))
        v = self.atoms[f] = self.fresh()
        if is_boolean(f):
            self.facts.append(self.z3.Or(v == 0, v == 1))
        match f:
            case SizeFactor():
                self.facts.append(v >= 1)
            case IndexFactor():
                self.facts.append(v >= 0)
            case LiteralFactor(text):
                self.facts.append(v > 0 if float(text) > 0 else v < 0)
            case NegInfFactor():
                raise TooLarge
        return v

    def inverse(self, f: Factor | Mono, v: Any) -> Any:
        """1 / v: of zero it is any number, so that nothing follows from a division by zero."""
        if f not in self._inverses:
            w = self._inverses[f] = self.fresh()
            self.facts.append(self.z3.Or(v == 0, v * w == 1))
        return self._inverses[f]

    def exp(self, f: ExpFactor) -> Any:
        """exp of a sum as a product of powers of one positive number a monomial."""
        out = self.number(Fraction(1))
        for m, c in self.normal.terms(self.normal.poly(f.poly)):
            n = c * self.exponents.get(m, 1)
            if n.denominator != 1 or abs(n) > MOST_POWER:
                raise TooLarge
            base = self._bases.get(m)
            if base is None:
                base = self._bases[m] = self.fresh()
                self.facts.append(base > 0)
            v = base if n > 0 else self.inverse(m, base)
            for _ in range(abs(int(n))):
                out = out * v
        return out


def exponents(normal: Normalizer, polys: Iterable[Poly]) -> dict[Mono, int]:
    """For each monomial under an exp: what its coefficients are multiples of 1 over."""
    out: dict[Mono, int] = {}
    todo, seen = list(polys), set()
    while todo:
        p = todo.pop()
        if p in seen:
            continue
        seen.add(p)
        for m, _ in p:
            for f, _ in m:
                inner = parts(normal, f)
                todo += inner
                if isinstance(f, ExpFactor):
                    for m2, c2 in normal.poly(f.poly):
                        out[m2] = lcm(out.get(m2, 1), c2.denominator)
    return out


def parts(normal: Normalizer, f: Factor) -> list[Poly]:
    """The polynomials that a factor is a function of, at the same index (not the bodies of sums and maxima)."""
    match f:
        case ExpFactor(poly) | SqrtFactor(poly) | PolyFactor(poly) | InvFactor(poly):
            return [normal.poly(poly)]
        case CallFactor(_, args):
            return [normal.poly(i) for i in args]
    return []


def trigger(t: Terms, law: ReadLaw) -> int:
    """The part of a law's left side whose presence brings the law in: a function with all of its letters."""
    left = law.claim.left
    if isinstance(t.node(left), (Add, Mul)):
        for k in t.kids(left):
            if not isinstance(t.node(k), (Input, Const, Add, Mul)) and letters_of(t, k) == letters_of(t, left):
                return k
    return left


@dataclass(frozen=True)
class Instance:
    """A law at terms: `claim`, where all that `held` says holds."""

    law: ReadLaw
    held: tuple[Comparison, ...]
    claim: Comparison

    @property
    def terms(self) -> set[int]:
        return {x for c in (self.claim, *self.held) for x in (c.left, c.right)}


class Query:
    """One question to z3 about terms of one arena. `laws` as read by rulelang, `given` what is assumed."""

    def __init__(
        self, t: Terms, normal: Normalizer, signs: SignAnalysis, laws: Sequence[ReadLaw], given: Iterable[DomainCondition],
        budget: WorkBudget,
    ) -> None:  # fmt: skip
        self.t, self.normal, self.signs, self.laws, self.budget = t, normal, signs, laws, budget
        self.given = [c for c in given if not c.guards]
        self.used: list[str] = []
        self.matcher = Matcher(t)

    def instances(self, roots: Iterable[int]) -> list[Instance]:
        """Every match in the terms and, once more, in what the instances speak of."""
        t, seen = self.t, set()
        out: list[Instance] = []
        fresh = list(roots)
        for _ in range(2):
            here = sorted({y for r in fresh for y in t.walk(r, into_reductions=False)})
            fresh = []
            for x in here:
                for law in self.laws:
                    for match in self.matcher.find(trigger(self.t, law), x):

                        def side(p: int, match: Any = match) -> int:
                            return self.matcher.fill(p, match)

                        claim = Comparison(side(law.claim.left), law.claim.relation, side(law.claim.right))
                        if (law.name, claim) in seen:
                            continue
                        seen.add((law.name, claim))
                        held = tuple(Comparison(side(c.left), c.relation, side(c.right)) for c in law.conditions)
                        out.append(Instance(law, held, claim))
                        fresh += [claim.right, *(z for c in held for z in (c.left, c.right))]
                        if len(out) >= MOST_INSTANCES:
                            return out
        return out

    def holds(self, a: int, relation: str, b: int) -> bool:
        """True if `a` <relation> `b` is proved at every index, wherever `given` holds. False says only that it is not."""
        try:
            return self._holds(a, relation, b)
        except TooLarge:
            return False

    def _holds(self, a: int, relation: str, b: int) -> bool:
        normal = self.normal
        found = self.instances([a, b, *(c.argument for c in self.given)])
        terms = {a, b, *(c.argument for c in self.given)}.union(*(i.terms for i in found))
        polys = {x: normal.of(x) for x in terms if not self._silent(x)}
        if a not in polys or b not in polys:
            return False
        encoding = Encoding(normal, exponents(normal, polys.values()))
        z3 = encoding.z3
        value = {x: encoding.poly(p) for x, p in polys.items()}
        solver = z3.SolverFor("QF_NRA")
        solver.set("rlimit", max(1, self.budget.left))  # 0 would be no limit
        solver.set("random_seed", SEED)
        solver.add(*self._signs(encoding, value), *self._given(encoding, value, found))
        solver.add(*self.congruence(encoding), *encoding.facts, z3.Not(compare(value[a], relation, value[b])))
        before = work_done(solver)
        shown = bool(solver.check() == z3.unsat)
        self.budget.take(work_done(solver) - before)
        return shown

    def _signs(self, encoding: Encoding, value: Mapping[int, Any]) -> Iterator[Any]:
        """The known signs of the terms."""
        known = [(c.argument, c.signs) for c in self.given] + [(x, self.signs.of(x)) for x in sorted(value)]
        for x, signs in known:
            if x in value and len(signs) < 3:
                yield encoding.z3.Or(*(compare(value[x], SIGN[s], 0) for s in sorted(signs)))

    def _given(self, encoding: Encoding, value: Mapping[int, Any], found: Iterable[Instance]) -> Iterator[Any]:
        """The instances of the laws, as implications."""
        z3 = encoding.z3
        for i in found:
            if i.terms <= value.keys():
                self.used.append(i.law.name)
                when = [compare(value[c.left], c.relation, value[c.right]) for c in i.held]
                claim = compare(value[i.claim.left], i.claim.relation, value[i.claim.right])
                yield z3.Implies(z3.And(*when), claim) if when else claim

    def _silent(self, x: int) -> bool:
        try:
            self.normal.of(x)
        except TooLarge:
            return True
        return False

    def congruence(self, encoding: Encoding) -> Iterable[Any]:
        """Equal arguments, equal values: for each two atoms of one function."""
        z3 = encoding.z3
        groups: dict[Any, list[tuple[Factor, list[Poly]]]] = {}
        for f in list(encoding.atoms):
            inside = parts(self.normal, f)
            if inside and not isinstance(f, PolyFactor):
                name = f.name if isinstance(f, CallFactor) else ""
                groups.setdefault((f.kind, name, len(inside)), []).append((f, inside))
        for members in groups.values():
            for (f, xs), (g, ys) in combinations(members, 2):
                same = [encoding.poly(x) == encoding.poly(y) for x, y in zip(xs, ys)]
                yield z3.Implies(z3.And(*same), encoding.atom(f) == encoding.atom(g))


def compare(a: Any, relation: str, b: Any) -> Any:
    if relation not in RELATIONS:
        raise ValueError(f"no relation {relation!r}")
    if relation in ("==", "!="):
        return a == b if relation == "==" else a != b
    if relation in (">=", "<="):
        return a >= b if relation == ">=" else a <= b
    return a > b if relation == ">" else a < b


def work_done(solver: Any) -> int:
    """The units of work that z3 has done in this process, for all its solvers together."""
    found = solver.statistics()
    return int(found.get_key_value("rlimit count")) if "rlimit count" in set(found.keys()) else 0
