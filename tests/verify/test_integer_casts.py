"""Two functions that drop the fractions of floats: equal where the floats are, refused where a fraction counts."""

from __future__ import annotations

import pytest

from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace
from mirage.results.verdict import Verdict
from mirage.verify.two_programs import compare

HEAD = "import torch\n\n\n"


def verdict(left: str, right: str) -> Verdict:
    inputs = [TensorSpec(n, (64,), d) for n, d in (("x", "fp32"), ("h", "fp16"))]
    programs = (trace(f"{HEAD}def f(x, h):\n    return {text}\n", "f", inputs) for text in (left, right))
    return compare(*programs)


@pytest.mark.parametrize(
    "left,right",
    [
        ("x.to(torch.int32)", "x.round().to(torch.int32)"),
        ("x.long()", "x.floor().long()"),
        ("x.int()", "x.half().int()"),
        ("(x * 100).int()", "(x * 100 + 0.01).int()"),
        ("x * x.int().float()", "x * x"),
        ("h.int().float() * x", "h.float() * x"),
        ("torch.where(x.int() == 0, x, 1.0)", "torch.where(x == 0, x, 1.0)"),
        ("x.int().to(torch.int8).float()", "x.int().float()"),
        ("x.long().int().float()", "x.long().float()"),
        ("x.int().half().float()", "x.int().float()"),
        ("(x.long() * 3000000000).float()", "x.long().float() * 3000000000"),
        ("(x.int() + 1).float()", "x.int().float() + 1"),
        ("x.int().abs().float()", "x.int().float().abs()"),
        ("x.argsort().to(torch.int8).float()", "x.argsort().float()"),
        ("x.to(torch.int8) * 2 == 0", "x.to(torch.int8) == 0"),
        ("torch.where(x.int() == 0, x, 1.0)", "torch.where(x.abs() <= 1, x, 1.0)"),
    ],
)
def test_a_fraction_that_counts_is_seen(left: str, right: str) -> None:
    found = verdict(left, right)
    assert not found.accepted, found.headline


@pytest.mark.parametrize(
    "left,right",
    [
        ("x.int()", "x.int()"),
        ("x.int().float() * h * 2", "(2 * h) * x.int().float()"),
        ("torch.where(x.int() == 0, x * 2, 1.0)", "torch.where(x.int() == 0, 2 * x, 1.0)"),
    ],
)
def test_equal_floats_have_equal_integers(left: str, right: str) -> None:
    found = verdict(left, right)
    assert found.accepted, [e.summary for e in found.evidence]
