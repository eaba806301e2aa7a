"""PROVED (all sizes) is said only of programs that are the same at all sizes, as far as other traces show."""

from __future__ import annotations

import pytest
from workloads.traced import trace_generic

from mirage.ir.program import Program
from mirage.meaning.terms import Terms
from mirage.verify.size_scope import disguised, disguises, named_lengths
from mirage.verify.two_programs import compare

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"


def program(text: str, shape: tuple[int, ...] = (6, 64), names: tuple[str, ...] = ("b", "h")) -> Program:
    return trace_generic(f"{HEAD}def f(x):\n    return {text}\n", "f", [("x", shape, "fp32", names)])


ALL = [
    ("x.softmax(-1)", "(x - x.amax(-1, keepdim=True)).softmax(-1)"),
    ("F.silu(x)", "x / (1 + torch.exp(-x))"),
    ("F.rms_norm(x, (x.shape[-1],), None, 1e-6)", "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)"),
    ("x.mean(-1) * 3", "(3 * x).mean(-1)"),
]
# beside an infinity the one is a number, and the other is none
FINITE = [
    ("x.softmax(-1)", "torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)"),
    ("x.logsumexp(-1)", "torch.exp(x).sum(-1).log()"),
]
# a number in the text that is a size of the run, or a function that is another one at another size
THESE = [
    ("x.sum(-1) / 64", "(x / 64).sum(-1)"), ("x.mean(-1)", "x.sum(-1) / 64"), ("x.mean(-1)", "x.sum(-1) / x.shape[-1]"),
    ("x * 64 ** -0.5", "x * 0.125"), ("x * x.shape[-1] ** -0.5", "x / 8"), ("x / (x.shape[0] - 1)", "x * 0.2"),
    ("x * 384", "384 * x"), ("x * 2 if x.shape[1] > 10000 else x", "x"), ("x * (x.shape[0] == 6)", "x"),
    ("x * 2 if x.shape[0] * 9 > x.shape[1] * 2 else x", "x"), ("x.view(6, 8, 8).sum((1, 2))", "x.sum(-1)"),
    ("x[:, :32].sum(-1)", "x[:, :32].sum(-1) * 1"),
]  # fmt: skip


@pytest.mark.parametrize("a,b", ALL)
def test_programs_without_sizes_are_proved_for_all(a: str, b: str) -> None:
    assert compare(program(a), program(b)).headline == "PROVED (all sizes)"


@pytest.mark.parametrize("a,b", FINITE)
def test_a_difference_at_infinity_stands_beside_the_sizes(a: str, b: str) -> None:
    assert compare(program(a), program(b)).headline == "PROVED (all sizes, finite inputs)"


@pytest.mark.parametrize("a,b", THESE)
def test_hidden_sizes_are_never_all_sizes(a: str, b: str) -> None:
    verdict = compare(program(a), program(b))
    assert verdict.scope == "these sizes"
    assert verdict.notes


def test_dims_without_names_were_not_traced_again() -> None:
    verdict = compare(program("x.softmax(-1)", names=("b", "")), program("x.softmax(-1)", names=("b", "")))
    assert verdict.headline == "PROVED (these sizes)"
    assert "dim 1 of x has no name" in verdict.notes


def test_a_mean_by_a_number_holds_at_its_size_alone() -> None:
    assert compare(program("x.mean(-1)"), program("x.sum(-1) / 64")).word == "PROVED"
    other = compare(program("x.mean(-1)", (6, 32)), program("x.sum(-1) / 64", (6, 32)))
    assert other.word == "REJECTED"
    large = compare(program("x.mean(-1)", (4, 2048)), program("x.sum(-1) / 4096", (4, 2048)))
    assert large.word == "REJECTED"


def test_what_cancels_is_not_proved() -> None:
    assert compare(program("x + torch.log(x) - torch.log(x)"), program("x")).word != "PROVED"
    assert compare(program("x + torch.log(x) * 0"), program("x")).word != "PROVED"
    assert compare(program("x / x"), program("torch.ones_like(x)")).word != "PROVED"
    assert compare(program("x + x.exp().log() - x.exp().log()"), program("x")).word == "PROVED"


def test_roots_of_free_signs_are_rejected_with_a_point() -> None:
    a, b = "torch.sqrt(x * x.flip(0)) if False else torch.sqrt(x * (x + 1))", "torch.sqrt(x) * torch.sqrt(x + 1)"
    verdict = compare(program(a), program(b))
    assert verdict.word == "REJECTED"
    shown = [e.counterexample for e in verdict.links[0].evidence if e.word == "REJECTED"]
    assert shown and shown[0] is not None and "nan" in (shown[0].expected, shown[0].actual)
    positive = compare(program("torch.sqrt(x.abs() * x.exp())"), program("torch.sqrt(x.abs()) * torch.sqrt(x.exp())"))
    assert positive.word == "PROVED"


@pytest.mark.parametrize("value", [4096, 4095, 1 / 4096, 64.0, 1 / 64, 4096**2, 12.0, 1 / 4095, 4096 * 3])
def test_numbers_that_may_be_sizes(value: float) -> None:
    t = Terms()
    assert disguised(t, [t.mul(t.input("x", ()), t.literal(value))], [4096, 3])


def test_numbers_that_are_no_sizes() -> None:
    t = Terms()
    assert not disguised(t, [t.mul(t.input("x", ()), t.literal(v)) for v in (0.5, 2, 1e-6, 1000.0)], [4096, 11])
    assert 1.0 not in disguises([2, 1])


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (4096, {4096}),
        (1 / 64, {4096}),
        (1 / 4095, {4096}),
        (4096 * 96, {4096, 96}),
        (95, {96}),
        (0.3, set()),
        (97, set()),
    ],
)
def test_which_sizes_a_number_may_be(value: float, named: set[int]) -> None:
    t = Terms()
    assert named_lengths(t, [t.mul(t.input("x", ()), t.literal(value))], [4096, 96, 11]) == named
