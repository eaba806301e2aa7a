"""The verdict on programs with two outputs: their bounds add up, and one that is wrong is refused by its own name."""

from __future__ import annotations

import pytest
from workloads.traced import trace

from mirage.ir.program import Program
from mirage.verify import two_programs
from mirage.verify.two_programs import compare


def program(*outputs: str) -> Program:
    inputs = [("x", (4, 6), "fp32"), ("y", (4, 6), "fp32")]
    return trace(f"import torch\n\n\ndef f(x, y):\n    return {', '.join(outputs)}\n", "f", inputs)


def test_bounds_of_outputs_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no proof is found. The second output is drawn less often, so that the two bounds are unlike."""
    draws, real = iter((2, 1)), two_programs.field_opinion
    monkeypatch.setattr(two_programs, "proved", lambda *a, **k: None)
    monkeypatch.setattr(two_programs, "field_opinion", lambda *a, **k: real(*a, **k, draws=next(draws)))
    verdict = compare(program("x + y", "x * y"), program("y + x", "y * x"))
    bounds = [e.bound for e in verdict.evidence if e.opinion == "field"]
    assert verdict.word == "TESTED" and len(bounds) == 2 and 0 < bounds[0] < bounds[1] < 1e-3
    assert verdict.bound == pytest.approx(sum(bounds), rel=1e-12) and verdict.bound > bounds[1]


@pytest.mark.parametrize("wrong", [0, 1])
def test_an_output_that_is_wrong_is_refused_by_its_number(wrong: int) -> None:
    right, other = ["x * y", "x + y"], ["y * x", "y + x"]
    assert compare(program(*right), program(*other)).word == "PROVED"
    other[wrong] = "x - y"
    verdict = compare(program(*right), program(*other))
    assert verdict.word == "REJECTED" and verdict.bound is None and verdict.outputs == 2
    (refused,) = [e for e in verdict.rejections if e.opinion == "field"]
    assert refused.output == wrong and refused.counterexample is not None and refused.counterexample.output == wrong
