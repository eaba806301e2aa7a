"""Two functions of integers: what wraps around, and what float32 does not hold, is no equality, though the algebra knows neither."""

from __future__ import annotations

import math

import pytest

from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace
from mirage.results.verdict import Verdict
from mirage.verify.field import sampling
from mirage.verify.field.sampling import fresh
from mirage.verify.two_programs import compare

HEAD = "import torch\n\n\n"


def verdict(dtype: str, left: str, right: str, *shape: int) -> Verdict:
    """On integers i and j and floats x."""
    inputs = [TensorSpec(n, shape or (64,), d) for n, d in (("i", dtype), ("j", dtype), ("x", "fp32"))]
    programs = (trace(f"{HEAD}def f(i, j, x):\n    return {text}\n", "f", inputs) for text in (left, right))
    return compare(*programs)


UNEQUAL = [
    ("int32", "(i * i).float() + x", "i.float() * i.float() + x"),
    ("int64", "(i * i).float() + x", "i.float() * i.float() + x"),
    ("int8", "(i * 2).float() * x", "i.float() * 2 * x"),
    ("int8", "(i + j).float() * x", "(i.float() + j.float()) * x"),
    ("int32", "(i - j).float() * x", "(i.float() - j.float()) * x"),
    ("int32", "i.abs().float() * x", "i.float().abs() * x"),
    ("int32", "torch.where(i == j, x, 0.0)", "torch.where(i.float() == j.float(), x, 0.0)"),
    ("int64", "torch.where(i == j, x, 0.0)", "torch.where(i.float() == j.float(), x, 0.0)"),
    ("int32", "torch.where(i - j == 1, x, 0.0)", "torch.where(i.float() - j.float() == 1, x, 0.0)"),
    ("int32", "torch.where(i < j, x, 0.0)", "torch.where(i.float() < j.float(), x, 0.0)"),
    ("int64", "torch.where(i > 0, x, 0.0)", "torch.where(i.int() > 0, x, 0.0)"),
]  # fmt: skip
EQUAL = [
    ("int32", "i.float() * x * 2", "(2 * x) * i.float()"),
    ("int8", "i.float() * x + i.float()", "i.float() * (x + 1)"),
    ("int8", "torch.where(i == j, x, 0.0)", "torch.where(i.float() == j.float(), x, 0.0)"),  # float32 holds them all
    ("int64", "torch.where(i > 3, x, 0.0)", "torch.where(i <= 3, 0.0, x)"),
    ("int32", "torch.where(i == j, x, 0.0)", "torch.where(i - j == 0, x, 0.0)"),  # a difference that wraps is not zero
    ("int32", "torch.where(i.double() == j.double(), x, 0.0)", "torch.where(i == j, x, 0.0)"),
    ("int32", "(i + j).float() * x", "x * (j + i).float()"),
]  # fmt: skip


@pytest.mark.parametrize("dtype,left,right", UNEQUAL)
def test_what_wraps_around_or_is_rounded_is_refused(dtype: str, left: str, right: str) -> None:
    found = verdict(dtype, left, right)
    assert found.word == "REJECTED", found.headline


@pytest.mark.parametrize("dtype,left,right", EQUAL)
def test_equal_functions_of_integers_are_accepted(dtype: str, left: str, right: str) -> None:
    found = verdict(dtype, left, right)
    assert found.accepted, [e.summary for e in found.evidence]


def test_without_a_run_nothing_is_shown_of_unlike_steps_with_integers() -> None:
    """Tensors that are too large to be run at their sizes."""
    large = (4096, 4100)
    left = "(i * i).float() + x"
    assert verdict("int32", left, "i.float() * i.float() + x", *large).word == "UNDECIDED"
    assert verdict("int32", left, "x + (i * i).float()", *large).accepted


def test_of_an_input_that_no_term_reads_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, ...]] = []
    monkeypatch.setattr(sampling, "fresh", lambda f, shape, kind: drawn.append(shape) or fresh(f, shape, kind))
    assert verdict("int32", "i.float() + x", "x + i.float()", 4096, 4100).accepted
    assert drawn and max(map(math.prod, drawn)) < 100
    assert verdict("int32", "i.float() + x", "x + i.float() + j.float()", 4096, 4100).word == "REJECTED"


def beside_half(dtype: str, left: str, right: str) -> Verdict:
    """On integers i, halves h and floats x."""
    inputs = [TensorSpec(n, (64,), d) for n, d in (("i", dtype), ("h", "fp16"), ("x", "fp32"))]
    programs = (trace(f"{HEAD}def f(i, h, x):\n    return {text}\n", "f", inputs) for text in (left, right))
    return compare(*programs)


@pytest.mark.parametrize(
    "dtype,left,right",
    [
        ("int32", "torch.where(h == i, x, 0.0)", "torch.where(h.float() == i.float(), x, 0.0)"),
        ("int64", "torch.where(h < i, x, 0.0)", "torch.where(h.float() < i.float(), x, 0.0)"),
        ("int32", "torch.where(h == i.half(), x, 0.0)", "torch.where(h.float() == i.float(), x, 0.0)"),
        ("int32", "torch.where(h == i, x, 0.0)", "torch.where(h.double() == i.double(), x, 0.0)"),
    ],
)
def test_integers_beside_halves_become_halves(dtype: str, left: str, right: str) -> None:
    found = beside_half(dtype, left, right)
    assert not found.accepted, found.headline
    said = "torch.where(h == i.half(), x, 0.0)" if "==" in left else left
    assert beside_half(dtype, left, said).accepted


def test_bytes_beside_halves_are_exact() -> None:
    assert beside_half("int8", "torch.where(h == i, x, 0.0)", "torch.where(h.float() == i.float(), x, 0.0)").accepted


def test_an_integer_that_is_infinite_as_a_half_is_told() -> None:
    found = beside_half("int32", "(h * 0.001) * i", "((h * 0.001).float() * i.float()).half()")
    assert any("overflow" in note for note in found.notes), found.notes
    assert not any("overflow" in note for note in beside_half("int8", "h * i", "i * h").notes)


WRAPS = [  # equal up to so many bits of a 64-bit integer
    ("(i * 12) // 4", "i * 3", (57, 63)),
    ("(i + j).float() * x", "(i.double() + j.double()).float() * x", (57, 63)),
    ("torch.where(i - j > 0, x, 0.0)", "torch.where(i > j, x, 0.0)", (57, 63)),
    ("i.sum() * 2 // 2", "i.sum()", (48, 60)),
]
WRAP_ALIKE = [
    ("(i + j) * 4", "j * 4 + i * 4"),
    ("i.sum() + j.sum()", "(i + j).sum()"),
    ("torch.where(i > j, x, 0.0)", "torch.where(i <= j, 0.0, x)"),
]


@pytest.mark.parametrize("left,right,bits", WRAPS)
def test_where_long_integers_wrap_around_is_said(left: str, right: str, bits: tuple[int, int]) -> None:
    found = verdict("int64", left, right)
    assert not found.accepted or any(f"64-bit integers below 2^{k}" in found.headline for k in range(*bits)), (
        found.headline
    )


@pytest.mark.parametrize("left,right", WRAP_ALIKE)
def test_of_long_integers_that_wrap_alike_nothing_is_left_out(left: str, right: str) -> None:
    found = verdict("int64", left, right)
    assert found.accepted and found.only == (), found.headline


def test_integers_that_do_not_reach_the_end_have_no_limit() -> None:
    """A quotient that is multiplied again stays in range, and so does an integer of 32 bits that is widened."""
    assert verdict("int64", "(i // 8) * 4", "(i // 8) * 2 * 2").only == ()
    assert verdict("int32", "(i.long() * 12) // 4", "i.long() * 3").only == ()
