"""The user's rules: laws in a text file, one a line, each tested before any proof may use it.

    # name: left == right if condition
    sum of angles: sin(a + b) == sin(a) * cos(b) + cos(a) * sin(b)

A rule that the axioms prove needs no trust. One that is only tested is named in every verdict that uses it. One that is
false at a point is refused, with the point.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mirage.errors import RuleFalse, RuleUnreadable
from mirage.meaning.laws import LAWS, Law, Use
from mirage.meaning.nodes import Add, Const, Exp, FloatLiteral, Input, Inv, Mul, Reduce, Size, Sqrt
from mirage.meaning.terms import Terms
from mirage.operators.signs import Signs
from mirage.verify.field.algebra_opinion import field_opinion
from mirage.verify.proof.law_language import LawSyntax, ReadLaw, letters_of, read_law
from mirage.verify.proof.law_test import check
from mirage.verify.proof.prover import Prover
from mirage.verify.proof.rewriting import RELATIONS

USER: Use = "user"
FEWEST_POINTS = 100  # at which a rule must have said something to count as tested
MOST_RULES = 100
DECIDED = (Sqrt, Exp, Inv, Add, Mul, Reduce, Input, Const, Size, FloatLiteral)  # by the field, but for order
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9 _-]{0,60}")


@dataclass(frozen=True)
class Rules:
    """`proved` and `trusted` rules; `tests` says of each trusted one how it was tested."""

    proved: tuple[Law, ...] = ()
    trusted: tuple[Law, ...] = ()
    tests: dict[str, str] = field(default_factory=dict)


def parse(text: str, path: str | None = None) -> list[tuple[int, Law]]:
    """(line, rule) of each rule of a file. Raises RuleUnreadable."""
    out: list[tuple[int, Law]] = []
    taken = {a for a in LAWS}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, colon, law = (part.strip() for part in line.partition(":"))
        if not colon or not _NAME.fullmatch(name) or not law:
            raise RuleUnreadable(f"`{line}` is no `name: law`", path=path, line=number)
        if name in taken:
            raise RuleUnreadable(f"there is a law `{name}` already", path=path, line=number)
        taken.add(name)
        out.append((number, Law(name, law, (USER,))))
        if len(out) > MOST_RULES:
            raise RuleUnreadable(f"more than {MOST_RULES} rules", path=path, line=number)
    return out


def signs_given(t: Terms, law: ReadLaw) -> dict[str, Signs] | None:
    """The conditions as signs of letters; None where they say more than that."""
    out: dict[str, Signs] = {}
    for c in law.conditions:
        n = t.node(c.left)
        if not isinstance(n, Input) or not t.is_const(c.right, 0):
            return None
        out[n.name] = out.get(n.name, frozenset((-1, 0, 1))) & RELATIONS[c.relation]
    return out


def proved(t: Terms, law: ReadLaw) -> bool:
    given = signs_given(t, law)
    return given is not None and Prover(t, given).equal(law.claim.left, law.claim.right) is not None


def tested(t: Terms, law: ReadLaw, spoken: int, path: str | None, line: int) -> str:
    """In words how a rule passed its tests; RuleFalse if the field shows a point that floats did not."""
    said = f"float64: {spoken} points"
    left, right = law.claim.left, law.claim.right
    below = [y for x in (left, right) for y in t.walk(x)]
    within = all(isinstance(t.node(y), DECIDED) and not t.is_maximum(y) for y in below)
    if law.conditions or not within:
        return f"{said}; the field does not decide it"
    e = field_opinion(t, left, right)
    if e.word == "REJECTED":
        shown = e.counterexample
        point = f": {shown.expected} and {shown.actual}, seed {shown.seed}" if shown is not None else ""
        raise RuleFalse(f"`{law.name}` is false at a random point of a finite field{point}", path=path, line=line)
    return f"{said}; field: {e.summary}"


def load(text: str, path: str | None = None) -> Rules:
    """The rules of a file, all of them tested. Raises RuleUnreadable and RuleFalse, with the line."""
    ready, believed, tests = [], [], {}
    for line, rule in parse(text, path):
        t = Terms()
        try:
            law = read_law(t, rule.name, rule.text)
        except LawSyntax as error:
            raise RuleUnreadable(f"`{rule.name}`: {error}", path=path, line=line) from error
        if law.claim.relation != "==":
            raise RuleUnreadable(f"`{rule.name}` is no equation", path=path, line=line)
        if isinstance(t.node(law.claim.left), Input) or not letters_of(t, law.claim.left):
            raise RuleUnreadable(f"`{rule.name}`: the left side is a letter or a number", path=path, line=line)
        wrong, spoken = check(rule.text)
        if wrong is not None:
            raise RuleFalse(f"`{rule.name}`: {wrong.show()}", path=path, line=line)
        if spoken < FEWEST_POINTS:
            raise RuleFalse(f"`{rule.name}` has a value at {spoken} points only: it says nothing", path=path, line=line)
        if proved(t, law):
            ready.append(rule)
        else:
            tests[rule.name] = tested(t, law, spoken, path, line)
            believed.append(rule)
    return Rules(tuple(ready), tuple(believed), tests)


def every(rules: Rules | None) -> tuple[Law, ...]:
    return () if rules is None else (*rules.proved, *rules.trusted)
