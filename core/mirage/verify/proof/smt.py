"""Equality over the reals by z3: the two terms at one generic index, with the instances of the axioms that match them.

Every polynomial of the normal form becomes one over real variables, a variable an atom; an axiom becomes the implication
"conditions, so claim" for each place where its left side matches. What z3 calls unsatisfiable cannot happen at any index,
for any inputs and any sizes. Unknown, a timeout and a model prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import Any

from mirage.meaning.normal_form import Factor, Mono, Normalizer, Poly, TooLarge
from mirage.meaning.terms import Terms
from mirage.verify.proof.definedness import Condition
from mirage.verify.proof.law_language import ReadLaw, letters_of
from mirage.verify.proof.matching import Matcher
from mirage.verify.proof.rewriting import RELATIONS
from mirage.verify.proof.signs import SignAnalysis

MOST_INSTANCES, MOST_ATOMS, MOST_POWER, MOST_MONOMIALS = 60, 40, 8, 200
SEED = 1


class Encoding:
    """Polynomials as z3 terms. `facts` hold at every point where both sides are defined."""

    def __init__(self, normal: Normalizer, exponents: dict[Mono, int]) -> None:
        import z3

        self.z3, self.normal, self.exponents = z3, normal, exponents
        self.facts: list[Any] = []
        self.atoms: dict[Factor, Any] = {}
        self._bases: dict[Mono, Any] = {}
        self._inverses: dict[Factor, Any] = {}

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
        for m, c in sorted(p, key=repr):
            product = self.number(c)
            for f, e in m:
                if abs(e) > MOST_POWER:
                    raise TooLarge
                v = self.exp(f) if f[0] == "exp" else self.atom(f)
                v = v if e > 0 else self.inverse(f, v)
                for _ in range(abs(e)):
                    product = product * v
            total = total + product
        return total

    def atom(self, f: Factor) -> Any:
        if f in self.atoms:
            return self.atoms[f]
        if f[0] == "poly":
            return self.poly(self.normal.poly(f[1]))
        v = self.atoms[f] = self.fresh()
        z3 = self.z3
        if f[0] == "bool":
            self.facts.append(z3.Or(v == 0, v == 1))
        elif f[0] == "size":
            self.facts.append(v >= 1)
        elif f[0] == "index":
            self.facts.append(v >= 0)
        elif f[0] == "lit":
            self.facts.append(v > 0 if float(f[1]) > 0 else v < 0)
        elif f[0] == "ninf":
            raise TooLarge
        return v

    def inverse(self, f: Factor, v: Any) -> Any:
        """1 / v: of zero it is any number, so that nothing follows from a division by zero."""
        if f not in self._inverses:
            w = self._inverses[f] = self.fresh()
            self.facts.append(self.z3.Or(v == 0, v * w == 1))
        return self._inverses[f]

    def exp(self, f: Factor) -> Any:
        """exp of a sum as a product of powers of one positive number a monomial."""
        out = self.number(Fraction(1))
        for m, c in sorted(self.normal.poly(f[1]), key=repr):
            n = c * self.exponents.get(m, 1)
            if n.denominator != 1 or abs(n) > MOST_POWER:
                raise TooLarge
            base = self._bases.get(m)
            if base is None:
                base = self._bases[m] = self.fresh()
                self.facts.append(base > 0)
            key = ("base", m)
            v = base if n > 0 else self.inverse(key, base)
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
                if f[0] == "exp":
                    for m2, c2 in inner[0]:
                        out[m2] = lcm(out.get(m2, 1), c2.denominator)
    return out


def parts(normal: Normalizer, f: Factor) -> list[Poly]:
    """The polynomials that a factor is a function of, at the same index (not the bodies of sums and maxima)."""
    if f[0] in ("exp", "sqrt", "poly", "inv"):
        return [normal.poly(f[1])]
    if f[0] == "fn" or (f[0] == "bool" and len(f) > 2 and all(isinstance(i, int) for i in f[2:])):
        return [normal.poly(i) for i in f[2:]]
    return []


def trigger(t: Terms, law: ReadLaw) -> int:
    """The part of a law's left side whose presence brings the law in: a function with all of its letters."""
    left = law.claim.left
    if t.kind(left) in ("add", "mul"):
        for k in t.kids(left):
            if t.kind(k) not in ("in", "const", "add", "mul") and letters_of(t, k) == letters_of(t, left):
                return k
    return left


class Query:
    """One question to z3 about terms of one arena. `laws` as read by rulelang, `given` what is assumed."""

    def __init__(
        self, t: Terms, normal: Normalizer, signs: SignAnalysis, laws: Sequence[ReadLaw], given: Iterable[Condition],
        seconds: float,
    ) -> None:  # fmt: skip
        self.t, self.normal, self.signs, self.laws, self.seconds = t, normal, signs, laws, seconds
        self.given = [c for c in given if not c.guards]
        self.used: list[str] = []
        self.matcher = Matcher(t)

    def instances(self, roots: Iterable[int]) -> list[tuple[ReadLaw, list[tuple[int, str, int]], tuple[int, str, int]]]:
        """(law, conditions, claim) for every match in the terms and, once more, in what the instances speak of."""
        t, out, seen = self.t, [], set()
        fresh = list(roots)
        for _ in range(2):
            here = sorted({y for r in fresh for y in t.walk(r, into_reductions=False)})
            fresh = []
            for x in here:
                for law in self.laws:
                    for match in self.matcher.find(trigger(self.t, law), x):

                        def side(p: int, match: Any = match) -> int:
                            return self.matcher.fill(p, match)

                        claim = (side(law.claim.left), law.claim.relation, side(law.claim.right))
                        if (law.name, claim) in seen:
                            continue
                        seen.add((law.name, claim))
                        held = [(side(c.left), c.relation, side(c.right)) for c in law.conditions]
                        out.append((law, held, claim))
                        fresh += [claim[2], *(z for a, _, b in held for z in (a, b))]
                        if len(out) >= MOST_INSTANCES:
                            return out
        return out

    def holds(self, a: int, relation: str, b: int) -> bool:
        """Does `a` <relation> `b` at every index, wherever `given` holds? False says only that it is not proved."""
        try:
            return self._holds(a, relation, b)
        except TooLarge:
            return False

    def _holds(self, a: int, relation: str, b: int) -> bool:
        normal = self.normal
        found = self.instances([a, b, *(c.argument for c in self.given)])
        terms = {a, b, *(c.argument for c in self.given)}
        for _, held, claim in found:
            terms |= {claim[0], claim[2], *(z for x, _, y in held for z in (x, y))}
        polys = {x: normal.of(x) for x in terms if not self._silent(x)}
        if a not in polys or b not in polys:
            return False
        encoding = Encoding(normal, exponents(normal, polys.values()))
        z3 = encoding.z3
        value = {x: encoding.poly(p) for x, p in polys.items()}
        solver = z3.SolverFor("QF_NRA")
        solver.set("timeout", max(1, int(1000 * self.seconds)))
        solver.set("random_seed", SEED)
        goal = compare(value[a], relation, value[b])
        known = [(c.argument, c.signs) for c in self.given] + [(x, self.signs.of(x)) for x in sorted(value)]
        facts = [
            z3.Or(*(compare(value[x], {0: "==", 1: ">", -1: "<"}[s], 0) for s in sorted(signs)))
            for x, signs in known if x in value and len(signs) < 3
        ]  # fmt: skip
        for law, held, (x, r, y) in found:
            involved = [x, y, *(z for u, _, v in held for z in (u, v))]
            if all(z in value for z in involved):
                self.used.append(law.name)
                when = [compare(value[u], q, value[v]) for u, q, v in held]
                facts.append(z3.Implies(z3.And(*when), compare(value[x], r, value[y])) if when
                             else compare(value[x], r, value[y]))  # fmt: skip
        facts += list(self.congruence(encoding))
        solver.add(*facts, *encoding.facts, z3.Not(goal))
        return bool(solver.check() == z3.unsat)

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
            if inside and f[0] != "poly":
                groups.setdefault((f[0], f[1] if f[0] in ("fn", "bool") else "", len(inside)), []).append((f, inside))
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
