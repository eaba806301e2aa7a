"""Rules of the user's: read strictly, refused when false, used by proofs, and named where a verdict rests on them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from mutants.equal_pairs import read
from workloads.traced import trace

from mirage.cli.place_argument import rules as rules_of
from mirage.errors import RuleFalse, RuleUnreadable
from mirage.ir.program import Program
from mirage.meaning.terms import Terms
from mirage.verify.proof.prover import Prover
from mirage.verify.proof.user_rules import every, load
from mirage.verify.two_programs import compare

ANGLE = "sum of angles: sin(a + b) == sin(a) * cos(b) + cos(a) * sin(b)"


def program(text: str) -> Program:
    return trace(
        f"import torch\n\n\ndef f(x, y):\n    return {text}\n", "f", [("x", (4, 6), "fp32"), ("y", (4, 6), "fp32")]
    )


def test_a_rule_that_is_only_tested_is_trusted_and_named() -> None:
    a, b = program("torch.sin(x + y) + y"), program("y + torch.cos(x) * torch.sin(y) + torch.sin(x) * torch.cos(y)")
    assert not compare(a, b).accepted
    verdict = compare(a, b, load(f"# trigonometry\n\n{ANGLE}  # known\n"))
    assert verdict.word == "PROVED"
    assert any("trusted by the user" in n and "sin(a + b)" in n for n in verdict.notes)
    (proof,) = [e.details for e in verdict.evidence if e.opinion == "proof"]
    assert proof.trusted_by_user == {"sum of angles": "sin(a + b) == sin(a) * cos(b) + cos(a) * sin(b)"}


def test_a_rule_proves_nothing_beyond_itself() -> None:
    rules = load(ANGLE)
    for other in (
        "y + torch.cos(x) * torch.sin(y) * 2",
        "y + torch.cos(x) * torch.sin(y) - torch.sin(x) * torch.cos(y)",
    ):
        assert compare(program("torch.sin(x + y) + y"), program(other), rules).word == "REJECTED"


def test_a_rule_that_follows_from_the_axioms_needs_no_trust() -> None:
    rules = load(
        "square: (a + b) ** 2 == a * a + 2 * a * b + b * b\nroots: sqrt(a * b) == sqrt(a) * sqrt(b) if a >= 0 and b >= 0"
    )
    assert [r.name for r in rules.proved] == ["square", "roots"] and not rules.trusted
    verdict = compare(program("(x + y) ** 2"), program("x * x + 2 * x * y + y * y"), rules)
    assert not any("trusted" in n for n in verdict.notes)


def test_conditions_are_asked_for() -> None:
    """The rule may be applied where its condition is known to hold, and nowhere else."""
    rules = every(load("cosine: cos(a) == cos(abs(a)) * abs(a) / a if a > 0"))
    t = Terms()
    prover = Prover(t, rules=rules)
    assert prover.equal(read(t, "cos(exp(a))"), read(t, "cos(abs(exp(a))) * 1")) is not None
    assert prover.equal(read(t, "cos(a)"), read(t, "cos(abs(a)) * abs(a) / a")) is None


def test_rules_reach_below_sums() -> None:
    t = Terms()
    a, b = read(t, "S(k, sin(x + r) * w)"), read(t, "cos(r) * S(k, sin(x) * w) + sin(r) * S(k, cos(x) * w)")
    assert Prover(t).equal(a, b) is None
    found = Prover(t, rules=every(load(ANGLE))).equal(a, b)
    assert found is not None and "sum of angles" in found.laws


@pytest.mark.parametrize(
    "text",
    ["a * b == a + b", "sqrt(a * b) == sqrt(a) * sqrt(b)", "sin(2 * a) == 3 * sin(a)", "abs(a) == a", "exp(a) == 1 + a",
     "log(a * b) == log(a) + log(b)", "max(k, x[k] * c) == c * max(k, x[k])", "sqrt(-a * a - 1) == 7 * a",
     "sum(k, x[k] * y[k]) == sum(k, x[k]) * sum(k, y[k])", "a * 3.0000001 == a * 3", "a * b == a if b >= 1",
     "(a + 2) * (a + 1) * a * (a - 1) * (a - 3) * (2 * a - 1) == 0", "sum(k, c * x[k]) == sum(k, x[k]) if c >= 0"],
)  # fmt: skip
def test_a_false_rule_is_refused_with_a_point(text: str) -> None:
    with pytest.raises(RuleFalse) as e:
        load(f"# first\nmine: {text}", "rules.txt")
    assert e.value.line == 2 and e.value.path == "rules.txt" and "mine" in e.value.message


@pytest.mark.parametrize(
    "text",
    ["a * b == b * a", "x: a * b", "x: f(a) == a", "x: __import__('os') == a", "x: a == b", "x: exp(a) > 0", "x: a * b == c",
     "x: exp(x[k]) == 1", "x: sum(k, x[j]) == 1", "x: 1 == 1", "add commutes: sin(a) == sin(a)", "1x: exp(a) == exp(a)",
     "x: exp(a) == exp(a)\nx: sin(a) == sin(a)", "x: sin(a) == sin(a) if a", "x: exp(a) == exp(a) if b > 0",
     "x: sin(a) == " + "(" * 400 + "a" + ")" * 400, "x: size(k) == 1", "x: exp(a.real) == 1", "x: a ** -1 == 1 / a"],
)  # fmt: skip
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(RuleUnreadable):
        load(text)


def test_the_file_of_the_command_line(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from mirage.cli.optimize import optimize

    path = tmp_path / "rules.txt"
    path.write_text(ANGLE)
    found = rules_of(str(path))
    assert found is not None and [r.name for r in found.trusted] == ["sum of angles"]
    assert rules_of(None) is None
    source = tmp_path / "f.py"
    source.write_text("import mirage\nfrom jaxtyping import Float32\nfrom torch import Tensor\n\n\n@mirage.optimize\n"
                      'def f(x: Float32[Tensor, "4 6"]):\n    return x\n')  # fmt: skip
    path.write_text("mine: sin(a) == a")
    result = CliRunner().invoke(optimize, [str(source), "--rules", str(path), "--no-daemon"])
    assert isinstance(result.exception, RuleFalse) and result.exception.line == 1
