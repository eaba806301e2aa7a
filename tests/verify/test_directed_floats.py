"""Thresholds, positions, casts and definedness of two functions: what differs at one point is refused, its equal twin is not."""

from __future__ import annotations

import numpy as np
import pytest

from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace
from mirage.results.verdict import Evidence, Verdict, Word
from mirage.verify.floats.directed_inputs import DRAWS, around, constants, draw
from mirage.verify.floats.pair_search import search
from mirage.verify.two_programs import compare

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
SHAPES = {"x": ((6, 8), "fp32"), "y": ((6, 8), "fp32"), "z": ((6, 8), "fp32"), "m": ((6, 8), "bool"), "h": ((6, 8), "fp16"),
          "s": ((16, 700), "fp32"), "q": ((2, 3, 64, 16), "fp32")}  # fmt: skip
WINDOW = "torch.where((torch.arange(700) - torch.arange(16)[:, None]).abs() < {}, s, 0.0)"
# (the function, one that is equal, one that is not, their inputs)
ROWS = {
    "threshold": ("torch.where(x > 2, y, z)", "torch.where(2 < x, y, z)", "torch.where(x > 3, y, z)", "xyz"),
    "close thresholds": ("torch.where(x > 2, y, z)", "torch.where(x + 1 > 3, y, z)", "torch.where(x > 2.00001, y, z)", "xyz"),
    "strictness": ("torch.where(x > 2, y, z)", "torch.where(x <= 2, z, y)", "torch.where(x >= 2, y, z)", "xyz"),
    "scaled threshold": ("torch.where(3 * x > 6, y, z)", "torch.where(x > 2, y, z)", "torch.where(3 * x > 6.1, y, z)", "xyz"),
    "clamp": ("(x * x).clamp(min=0)", "x * x", "(x * x).clamp(min=1e-3)", "x"),
    "upper limit": ("x.clamp(-1, 1)", "-(-x).clamp(-1, 1)", "x.clamp(-1, 1.25)", "x"),
    "mean": ("torch.where(x.mean(1) > 0.5, y[:, 0], z[:, 0])", "torch.where(x.sum(1) > 4, y[:, 0], z[:, 0])",
             "torch.where(x.mean(1) > 0.55, y[:, 0], z[:, 0])", "xyz"),
    "indices": ("torch.where(torch.arange(8) > 4, x, y)", "torch.where(torch.arange(8) >= 5, x, y)",
                "torch.where(torch.arange(8) >= 4, x, y)", "xy"),
    "ties": ("torch.where(x >= y, x, z)", "torch.where(y <= x, x, z)", "torch.where(x > y, x, z)", "xyz"),
    "diagonal": ("s.tril(8)", "s - s.triu(9)", "s.tril(12)", "s"),
    "window": (WINDOW.format(256), WINDOW.format(256).replace("< 256", "<= 255"), WINDOW.format(257), "s"),
    "position": ("torch.where(torch.arange(700) < 500, s, 1.0)", "torch.cat([s[:, :500], torch.ones_like(s[:, 500:])], 1)",
                 "torch.where(torch.arange(700) < 599, s, 1.0)", "s"),
    "quotient": ("x / y", "x * (1 / y)", "x / y.abs()", "xy"),
    "itself over itself": ("torch.ones_like(x)", "x * 0 + 1", "x / x", "x"),
    "root": ("x.abs().sqrt()", "(-x).abs().sqrt()", "x.sqrt()", "x"),
    "masked rows": ("torch.where(m, x, float('-inf')).softmax(1)", "x.masked_fill(~m, float('-inf')).softmax(1)",
                    "torch.where(m, x, -1e9).softmax(1)", "xm"),
    "cast": ("x * h.float()", "h.float() * x", "(x.half() * h).float()", "xh"),
    "half accumulator": ("x.sum(1)", "x.T.sum(0)", "x.half().sum(1).float()", "x"),
    "bfloat16": ("x * 2", "x + x", "(x.bfloat16() * 2).float()", "x"),
    "half product": ("(h.float() @ h.float().T)", "(h.float() @ h.T.float())", "(h @ h.T).float()", "h"),
}  # fmt: skip


def program(text: str, names: str) -> Program:
    given = [TensorSpec(n, *SHAPES[n]) for n in names]
    return trace(f"{HEAD}def f({', '.join(names)}):\n    return {text}\n", "f", given)


def opinion(a: str, b: str, names: str) -> Evidence:
    found = search(program(a, names), program(b, names)).evidence
    assert found is not None
    return found


@pytest.mark.parametrize("name", ROWS)
def test_what_differs_somewhere_is_refused_and_its_equal_twin_is_not(name: str) -> None:
    function, equal, other, names = ROWS[name]
    assert opinion(function, equal, names).word == "TESTED"
    refused = compare(program(function, names), program(other, names))
    assert refused.word == "REJECTED"
    shown = next(e.counterexample for e in refused.rejections if e.opinion == "float")
    assert shown is not None and shown.expected != shown.actual


@pytest.mark.parametrize("name", [n for n, (a, b, _, _) in ROWS.items() if n not in ("quotient", "itself over itself")])
def test_equal_functions_stay_accepted(name: str) -> None:
    function, equal, _, names = ROWS[name]
    assert compare(program(function, names), program(equal, names)).accepted


def test_overflow_on_one_side_is_refused_unless_it_may_differ() -> None:
    a, b = program("x.softmax(1)", "x"), program("x.exp() / x.exp().sum(1, keepdim=True)", "x")
    refused, allowed = compare(a, b, overflow=False), compare(a, b)
    assert refused.word == "UNDECIDED" and "leaves the range of its dtypes" in refused.rejections[0].summary
    assert refused.rejections[0].counterexample is not None
    assert allowed.accepted and any("allowed to differ where one overflows" in e.summary for e in allowed.evidence)
    assert compare(a, program("(x - 3).softmax(1)", "x"), overflow=False).accepted
    assert compare(a, program("(2 * x).softmax(1)", "x")).word == "REJECTED"
    huge = compare(program("x.abs()", "x"), program("(x * x).sqrt()", "x"), overflow=False)
    assert huge.word == "UNDECIDED"


def test_differences_on_infinities_and_nan_are_told_and_refuse_nothing() -> None:
    """A maximum keeps a NaN that a choice drops."""
    found = compare(program("torch.relu(x)", "x"), program("torch.where(x >= 0, x, 0)", "x"))
    assert found.accepted and any("infinities and NaN" in e.summary for e in found.evidence)
    plain = compare(program("x + y", "xy"), program("y + x", "xy"))
    assert not any("infinities" in e.summary or "overflow" in e.summary for e in plain.evidence)


def test_roundings_are_no_difference() -> None:
    """Cancellation leaves anything in float64, and is judged by what it costs in float32; a difference in the ninth digit is
    still one."""
    squares = opinion("(x - y) * (x + y)", "x * x - y * y", "xy")
    assert squares.word == "UNDECIDED" and "loses digits" in squares.summary
    shifted = opinion("(x + 1e8) - 1e8", "x", "x")
    assert shifted.word == "REJECTED" and "loses digits" in shifted.summary
    assert opinion("(x + y) * (x + y)", "x * x + 2 * x * y + y * y", "xy").word == "TESTED"
    assert opinion("x * 0.70710678118", "x * 0.5 ** 0.5", "x").word == "TESTED"
    assert opinion("x * 0.7071067", "x * 0.5 ** 0.5", "x").word == "REJECTED"


def test_draws_lie_on_and_around_every_constant() -> None:
    p = program("torch.where(x > 2.5, x.clamp(max=7), 0)", "x")
    numbers = constants([p])
    assert {0.0, 2.5, 7.0} <= set(numbers)
    pool = around(numbers, "fp32")
    for c in (2.5, -2.5, 7.0):
        assert {c, np.nextafter(np.float32(c), np.float32(9)), np.nextafter(np.float32(c), np.float32(-9))} <= set(pool)
    assert any(2.5 < v < 7 for v in pool)
    drawn = draw(next(k for k in DRAWS if k.name == "at constants"), p.inputs, numbers, 0)[0]
    assert np.isin(drawn, pool).mean() > 0.5 and (drawn == drawn.astype(np.float32)).all()


def verdict(*words: Word) -> Verdict:
    return Verdict(tuple(Evidence(link="algebra", opinion="float", word=w, summary="") for w in words))


def test_undecided_is_not_accepted() -> None:
    assert verdict("TESTED", "UNDECIDED").word == verdict("TESTED", "UNDECIDED").headline == "UNDECIDED"
    assert not verdict("TESTED", "UNDECIDED").accepted and verdict("TESTED", "UNDECIDED").bound is None
    assert verdict("PROVED", "UNDECIDED").word == "UNDECIDED"
    assert verdict("PROVED", "TESTED").word == "PROVED" and verdict("PROVED", "TESTED").accepted
    assert verdict("PROVED", "UNDECIDED", "REJECTED").word == "REJECTED"


def test_thresholds_that_no_run_met_are_undecided() -> None:
    """exp(sin(x)) is below e for every x: no proof knows it here, and no run is above."""
    a, b = "torch.where(x.sin().exp() < 3, x, y)", "x"
    assert compare(program(a, "xy"), program(b, "xy")).word == "UNDECIDED"
    met = compare(program(a.replace("3", "2"), "xy"), program(b, "xy"))
    assert met.word == "REJECTED"
