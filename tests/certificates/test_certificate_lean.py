"""The Lean text of a certificate: a lemma for each law, an application for each step, nothing left open."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from forgery.forged import Data, Forge, step

from mirage.certificates.lean import LEMMAS, NoLean, checked, text
from mirage_certificate.laws import CLEARED, LAWS


def proof() -> Data:
    """exp(x + y) z / exp(x) = exp(y) z by two laws."""
    f = Forge()
    x, y, z = f.input("x", "i", "j"), f.input("y", "i", "j"), f.input("z", "i")
    one = f.row("exp", f.row("add", x, y))
    left = f.row("sum", ["j"], f.row("mul", one, z))
    right = f.row("mul", z, f.row("sum", ["j"], f.row("mul", f.row("exp", x), f.row("exp", y))))
    body = f.row("mul", f.row("exp", x), f.row("exp", y))
    inner = f.row("sum", ["j"], f.row("mul", body, z))
    steps = step("exponential of a sum", one, a=x, b=y), step("factor of a sum", inner, A=[], B=["j"], c=z, a=body)
    return f.certificate(left, right, *steps)


def test_each_step_applies_a_lemma() -> None:
    found = text(proof())
    for law in ("exponential of a sum", "factor of a sum"):
        name = f"law_{law.replace(' ', '_20_')}"
        assert f"theorem {name} {LEMMAS[law]}" in found and re.search(rf"simp only \[{name}", found)
    assert found.count("have s") == 2 and found.count("theorem row0_out") == 1
    assert "sorry" not in found and "∑ i_j ∈ Finset.Ico (0 : ℤ) n_j" in found
    assert all(found.count(a) == found.count(b) for a, b in ("()", "[]"))


def test_a_denominator_is_a_hypothesis() -> None:
    f = Forge()
    x = f.input("x", "i", "j")
    square = f.row("add", f.row("mul", x, x), f.number("1"))
    below = f.row("inv", square)
    found = text(f.certificate(f.row("mul", square, below), f.number("1"), step(CLEARED, below)))
    assert re.search(r"\(h0 : .* ≠ 0\)", found)


@pytest.mark.parametrize("law", LEMMAS)
def test_a_lemma_is_of_a_law_and_has_a_proof(law: str) -> None:
    assert law in {*LAWS, CLEARED} and ":=" in LEMMAS[law]


def test_what_has_no_text_says_why() -> None:
    f = Forge()
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    one, other = f.row("fn", "lt", x, f.row("ninf")), f.row("fn", "lt", y, f.row("ninf"))
    with pytest.raises(NoLean, match="-inf"):
        text(f.certificate(one, other))
    data = proof()
    data["rows"][0]["scope"] = "these sizes"
    with pytest.raises(NoLean, match="these sizes"):
        text(data)


def test_without_lean_it_is_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert checked(tmp_path / "a.lean", str(tmp_path)).startswith("not checked")


@pytest.mark.parametrize(("status", "said"), [(0, "checked by Lean"), (1, "not checked: Lean refuses it")])
def test_what_lean_says_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, said: str) -> None:
    lake = tmp_path / "lake"
    lake.write_text(f"#!/bin/sh\nexit {status}\n")
    lake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert checked(tmp_path / "a.lean", str(tmp_path)).startswith(said)
