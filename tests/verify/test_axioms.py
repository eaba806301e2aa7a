"""Every axiom holds on all small shapes and at random points; wrong ones are caught; the normal form keeps values."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import get_args

import numpy as np
import pytest
from mutants.equal_pairs import read

from mirage.meaning.laws import (
    ALGEBRA,
    BUILDING,
    DEFINITION,
    DERIVATION,
    FRACTIONS,
    INSIDE,
    LAWS,
    NORMAL,
    REWRITING,
    SOLVER,
    STEPS,
    Law,
    Use,
    used_by,
)
from mirage.meaning.normal_form import Normalizer, TooLarge
from mirage.meaning.terms import Terms
from mirage.verify.field.sampling import shapes_of
from mirage.verify.proof.law_language import LawSyntax, read_law
from mirage.verify.proof.law_test import check
from mirage.verify.proof.prover import Prover
from mirage.verify.proof.rewriting import Rewriter
from mirage.verify.proof.signs import SignAnalysis
from mirage.verify.proof.user_rules import signs_given
from mirage.verify.semantics.evaluate_terms import evaluate_terms
from mirage.verify.semantics.float64 import Floats

WRONG = [
    "sqrt(a * b) == sqrt(a) * sqrt(b)", "sqrt(a * a) == a", "log(a * b) == log(a) + log(b)", "abs(a) == a",
    "log(a * a) == 2 * log(a)", "exp(a * b) == exp(a) * exp(b)", "1 / (a + b) == 1 / a + 1 / b",
    "sum(k, x[k] * y[k]) == sum(k, x[k]) * sum(k, y[k])", "sum(k, x[k] / x[k] * c) == c",
    "max(k, x[k] * c) == c * max(k, x[k])", "max(k, x[k] + y[k]) == max(k, x[k]) + max(k, y[k])",
    "sum(k, max(j, x[j, k])) == max(j, sum(k, x[j, k]))", "sum(k, exp(x[k])) == exp(sum(k, x[k]))",
    "sum(k, c * x[k]) == c + sum(k, x[k])",
    "tanh(a) == 2 * sigmoid(a) - 1", "sigmoid(a) == 1 / (1 + exp(a))", "cos(-a) == -cos(a)", "erf(-a) == erf(a)",
    "maximum(a, b) == a if a <= b", "minimum(a, b) == a + b + maximum(a, b)", "where(a < b, c, d) == c if a <= b",
    "where(a == b, c, d) == d", "abs(a + b) == abs(a) + abs(b)", "exp(a) > 1 if a >= 0", "log(a) >= 0 if a > 0",
    "sqrt(a) <= a if a >= 0", "max(k, exp(-x[k])) == exp(max(k, x[k]))", "log(1 / a) == -log(a) + 1 if a > 0",
]  # fmt: skip


SPOKEN = [law for law in LAWS.values() if law.text]  # the others are about the form of a term


@pytest.mark.parametrize("law", SPOKEN, ids=[law.name for law in SPOKEN])
def test_every_law_holds_at_all_small_points(law: Law) -> None:
    wrong, spoken = check(law.text)
    assert wrong is None, wrong.show()
    assert spoken >= 100


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_axiom_is_caught(text: str) -> None:
    read_law(Terms(), "wrong", text)
    wrong, _ = check(text)
    assert wrong is not None


def test_names_are_one_row_each_and_each_row_has_a_user() -> None:
    assert len(LAWS) == len(STEPS) + len(ALGEBRA)
    assert all(set(law.use) <= set(get_args(Use)) and law.use for law in LAWS.values())
    assert all(
        (law.statement and law.source) or law.name == INSIDE or DERIVATION not in law.use for law in LAWS.values()
    )


@pytest.mark.parametrize("law", [law for law in used_by(NORMAL) if law.text], ids=lambda law: law.name)
def test_the_normal_form_has_its_laws(law: Law) -> None:
    t = Terms()
    claim = read_law(t, law.name, law.text).claim
    assert Normalizer(t).equal(claim.left, claim.right) is True


@pytest.mark.parametrize("law", [law for law in used_by(BUILDING) if law.text], ids=lambda law: law.name)
def test_making_a_term_applies_its_laws(law: Law) -> None:
    """Both sides are one term, before any normal form."""
    claim = read_law(Terms(), law.name, law.text).claim
    assert claim.left == claim.right


def test_a_law_that_making_a_term_does_not_apply_is_seen() -> None:
    assert [
        law.name
        for law in used_by(NORMAL)
        if law.text
        and BUILDING not in law.use
        and (claim := read_law(Terms(), law.name, law.text).claim).left != claim.right
    ]


@pytest.mark.parametrize("use", (FRACTIONS, REWRITING, DEFINITION, SOLVER))
def test_the_prover_proves_the_axioms_that_are_equations(use: Use) -> None:
    for axiom in used_by(use):
        t = Terms()
        law = read_law(t, axiom.name, axiom.text)
        given = signs_given(t, law)
        if law.claim.relation == "==" and given is not None:
            assert Prover(t, given).equal(law.claim.left, law.claim.right) is not None, axiom


@pytest.mark.parametrize(
    "text,left,right",
    [("sqrt(a * b) == sqrt(a) * sqrt(b)", "sqrt(a * b)", "sqrt(a) * sqrt(b)"),
     ("max(k, x[k] * c) == c * max(k, x[k])", "M(k, x * r)", "r * M(k, x)")],
)  # fmt: skip
def test_a_wrong_axiom_would_prove_what_is_false(text: str, left: str, right: str) -> None:
    """Why the table is checked: a wrong row makes two terms one that differ, and the prover as it is does not."""
    t = Terms()
    a, b = read(t, left), read(t, right)
    normal = Normalizer(t)
    rewriter = Rewriter(t, [read_law(t, "wrong", text)], SignAnalysis(t), normal)
    assert normal.equal(rewriter.rewrite(a), rewriter.rewrite(b)) is True
    assert Prover(t).equal(a, b) is None
    assert check(text)[0] is not None


@pytest.mark.parametrize(
    "text",
    ["a + b", "a == b if", "f(a) == a", "a == b", "x[k] == 1", "sum(k, x[j]) == 1", "a ** b == a", "sum(k, k) == 1",
     "a == a if a", "a < b < a", "lambda: a == a", "a.b == a", "sum(k, sum(k, x[k])) == 1", "x[k, k] == 1"],
)  # fmt: skip
def test_what_is_no_law_does_not_parse(text: str) -> None:
    with pytest.raises(LawSyntax):
        read_law(Terms(), "law", text)


LEAVES = ["a", "b", "r", "x", "u", "2", "1/3", "x*u", "a*b", "N(k)"]


def expression(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(LEAVES)
    one, two = (expression(rng, depth - 1) for _ in range(2))
    return rng.choice((
        f"({one} + {two})", f"({one} - {two})", f"({one}) * ({two})", f"({one}) / (({two}) ** 2 + 1)", f"exp({one} / 4)",
        f"S(k, 0 * x + {one})", f"S(m, 0 * x + {one})", f"M(k, 0 * x + {one})", f"max({one}, {two})",
        f"where(lt({one}, {two}), {one}, 0)", f"sqrt(({one}) ** 2 + 1)", f"({one}) * ({two} + 1)",
    ))  # fmt: skip


def values(t: Terms, x: int, dims: tuple[str, ...], sizes: dict[str, int], inputs: dict[str, np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(evaluate_terms(t, [(x, dims)], inputs, Floats(), sizes)[0], np.float64)


@pytest.mark.parametrize("seed", range(3))
def test_equal_normal_forms_have_equal_values(seed: int) -> None:
    """Random expressions, grouped by their normal forms; and each against its parts in another order."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    t = Terms()
    sizes = {"m": 2, "k": 3, "n": 2, "j": 2}
    normal, groups = Normalizer(t), defaultdict(list)
    for _ in range(250):
        x = read(t, f"x - x + {expression(rng, rng.choice((1, 2, 2, 3)))}")
        try:
            groups[normal.of(x)].append(x)
        except TooLarge:
            continue
    roots = [x for g in groups.values() for x in g]
    inputs = {n: numbers.standard_normal((5, *s)) for n, s in shapes_of(t, roots, sizes).items()}
    signs, several = SignAnalysis(t), 0
    for group in groups.values():
        dims = tuple(sorted(set().union(*(t.dims(x) for x in group))))
        first = values(t, group[0], dims, sizes, inputs)
        several += len(group) > 1
        for x in group:
            assert np.allclose(values(t, x, dims, sizes, inputs), first, rtol=1e-7, atol=1e-7), t.show(x)
            found = values(t, x, dims, sizes, inputs)
            for sign in np.unique(np.sign(found[np.isfinite(found) & (np.abs(found) > 1e-9)])):
                assert int(sign) in signs.of(x), t.show(x)
    assert several >= 5
    everything = {d for x in roots for d in t.dims(x)}
    shown = [values(t, g[0], tuple(sorted(everything)), sizes, inputs) for g in groups.values()]
    assert len({s.round(6).tobytes() for s in shown}) > len(groups) * 0.8  # different forms are mostly different values
