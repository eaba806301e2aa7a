"""Digits and range that one of two functions loses as PyTorch runs them: refused, and what loses no more is accepted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace
from mirage.results.verdict import Verdict
from mirage.verify.floats.precision_search import OWN
from mirage.verify.semantics.program_values import run
from mirage.verify.two_programs import compare

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
SHAPES = {"x": ((6, 64), "fp32"), "y": ((6, 64), "fp32"), "z": ((6, 64), "fp32"), "w": ((64, 5), "fp32"),
          "h": ((6, 64), "fp16"), "b": ((6, 64), "bf16"), "d": ((6, 64), "fp64")}  # fmt: skip
CENTRED = "(x - x.mean(1, keepdim=True))"
LOOP = "sum({}[:, i] for i in range(1, 64)) + {}[:, 0]"
# (the function, what loses no more, what loses digits that it keeps)
DIGITS = {
    "variance": ("x.var(1, correction=0)", f"{CENTRED}.square().mean(1)", "(x * x).mean(1) - x.mean(1) ** 2"),
    "variance of the library": ("x.var(1)", "x.std(1).square()", "((x * x).sum(1) - 64 * x.mean(1) ** 2) / 63"),
    "layer norm": ("F.layer_norm(x, (64,))", f"{CENTRED} * torch.rsqrt({CENTRED}.square().mean(1, keepdim=True) + 1e-5)",
                   f"{CENTRED} * torch.rsqrt((x * x).mean(1, keepdim=True) - x.mean(1, keepdim=True) ** 2 + 1e-5)"),
    "covariance": ("((x - x.mean(1, keepdim=True)) * (y - y.mean(1, keepdim=True))).mean(1)",
                   "((y - y.mean(1, keepdim=True)) * (x - x.mean(1, keepdim=True))).sum(1) / 64",
                   "(x * y).mean(1) - x.mean(1) * y.mean(1)"),
    "distance": ("(x - y).square().sum(1)", "(y - x).square().sum(1)", "x.square().sum(1) - 2 * (x * y).sum(1) + y.square().sum(1)"),
    "squares": ("(x - y) * (x + y)", "(x + y) * (x - y)", "x * x - y * y"),
    "a large number added": ("x * 1.0", "x + 1 - 1", "x + 1e6 - 1e6"),
    "a large shift": ("x.softmax(1)", "(x + 2).softmax(1)", "(x + 1e5).softmax(1)"),
    "a cosine near one": ("2 * torch.sin(x / 2) ** 2", "2 * torch.sin(0.5 * x) * torch.sin(0.5 * x)", "1 - torch.cos(x)"),
    "a sum in half": ("h.float().sum(1)", LOOP.format("h.float()", "h.float()"), LOOP.format("h", "h") + ".float()"),
    "a half result": ("h.float().sum(1)", "h.float().T.sum(0)", "h.sum(1).float()"),
    "bfloat16": ("b.var(1, correction=0)", "(b - b.mean(1, keepdim=True)).square().mean(1)", "(b * b).mean(1) - b.mean(1) ** 2"),
    "an exponential near zero": ("torch.expm1(x)", "-torch.expm1(x) * -1", "torch.exp(x) - 1"),
    "a logarithm near one": ("torch.log1p(x.abs())", "torch.log1p(torch.maximum(x, -x))", "torch.log(1 + x.abs())"),
    "half an exponential near zero": ("torch.expm1(h)", "torch.expm1(2 * h * 0.5)", "torch.exp(h) - 1"),
    "bfloat16 near zero": ("torch.log1p(b.abs())", "torch.log1p(torch.maximum(-b, b))", "torch.log(b.abs() + 1)"),
    "a hyperbolic sine": ("torch.sinh(x)", "-torch.sinh(-x)", "(torch.exp(x) - torch.exp(-x)) / 2"),
    "a logarithm of an exponential": ("torch.log1p(torch.exp(-x.abs()))", "F.softplus(-x.abs())",
                                      "torch.log(1 + torch.exp(-x.abs()))"),
    "an exponential unit": ("F.elu(x, 0.5)", "torch.where(x > 0, x, 0.5 * torch.expm1(x.clamp(max=0)))",
                            "torch.where(x > 0, x, 0.5 * (torch.exp(x.clamp(max=0)) - 1))"),
    "another exponential unit": ("F.celu(x, 2.0)", "torch.where(x > 0, x, 2 * torch.expm1((x / 2).clamp(max=0)))",
                                 "torch.where(x > 0, x, 2 * (torch.exp((x / 2).clamp(max=0)) - 1))"),
    "one factor near zero": ("y * torch.expm1(x)", "torch.expm1(x) * y", "y * (torch.exp(x) - 1)"),
}  # fmt: skip
ONLY_WITH_FLAG = {
    "halves": ("h * 0.5 + h.flip(0) * 0.5", "(h + h.flip(0)) * 0.5"),
    "a sum before its scale": ("(b / 16).sum(1)", "b.sum(1) / 16"),
    "a sum near float16's end": ("(h.float().sum(1) / 64).half()", "h.sum(1) / 64"),
    "squares in half": ("h.float().square().mean(1).sqrt().half()", "h.square().float().mean(1).sqrt().half()"),
    "the inverse of a square": ("1 / x", "x * (1 / (x * x))"),
}
KEPT = {  # in every regime both lose the same, or nothing that matters
    "distributed": ("x * (y + z)", "x * y + x * z", "xyz"),
    "tanh": ("torch.tanh(x)", "2 * torch.sigmoid(2 * x) - 1", "x"),
    "a scale after": ("(x * 0.25) @ w", "(x @ w) * 0.25", "xw"),
    "a norm after": ("F.rms_norm(x, (64,), None, 1e-6) @ w", "(x @ w) * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)", "xw"),
    "in float64": ("d.var(1, correction=0)", "(d * d).mean(1) - d.mean(1) ** 2", "d"),
    "half of half": ("h.float() * 0.5", "(h * 0.5).float()", "h"),
}  # fmt: skip


def program(text: str) -> Program:
    names = [n for n in SHAPES if f"{n}" in set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())]
    return trace(
        f"{HEAD}def f({', '.join(names)}):\n    return {text}\n", "f", [TensorSpec(n, *SHAPES[n]) for n in names]
    )


def verdict(a: str, b: str, overflow: bool = False) -> Verdict:
    return compare(program(a), program(b), overflow=overflow)


@pytest.mark.parametrize("name", DIGITS)
def test_lost_digits_are_refused_and_kept_ones_are_not(name: str) -> None:
    function, equal, lossy = DIGITS[name]
    assert verdict(function, equal).accepted
    refused = verdict(function, lossy)
    assert not refused.accepted
    shown = next(e for e in refused.rejections if e.opinion == "float")
    assert "loses digits" in shown.summary and shown.counterexample is not None
    assert not verdict(lossy, function).accepted


@pytest.mark.parametrize("name", ONLY_WITH_FLAG)
def test_lost_range_is_accepted_under_the_flag_alone(name: str) -> None:
    function, other = ONLY_WITH_FLAG[name]
    assert not verdict(function, other).accepted
    allowed = verdict(function, other, overflow=True)
    assert allowed.accepted and any("allowed to differ where one overflows" in e.summary for e in allowed.evidence)


@pytest.mark.parametrize("name", KEPT)
def test_roundings_of_the_same_size_are_no_difference(name: str) -> None:
    a, b, names = KEPT[name]
    assert verdict(a, b).accepted, names


def test_a_composite_operator_keeps_float32_inside() -> None:
    """A variance of float16 is computed in float32, as PyTorch does, and rounded once."""
    h = (1 + 0.01 * np.random.default_rng(0).standard_normal((6, 64))).astype(np.float16)
    (have,), _ = run(program("h.var(1)"), [h.astype(np.float64)], OWN)
    want = torch.from_numpy(h).var(1).numpy().astype(np.float64)
    np.testing.assert_allclose(have, want, rtol=1e-3)
    (rounded,), _ = run(program("((h - h.mean(1, keepdim=True)) ** 2).sum(1) / 63"), [h.astype(np.float64)], OWN)
    assert np.abs(rounded / want - 1).max() > 1e-3


def test_what_is_said_of_infinite_inputs_stands_in_the_headline() -> None:
    found = verdict("torch.where(y > 0, x, 0.0)", "x * (y > 0)")
    assert found.accepted and found.finite and found.headline == "PROVED (these sizes, finite inputs)"
    alike = verdict("x + y", "y + x")
    assert not alike.finite and alike.headline == "PROVED (these sizes)"


def test_what_is_too_large_to_be_run_is_compared_on_finite_inputs() -> None:
    given = [TensorSpec("x", (1 << 13, 1 << 12), "fp32")]
    a, b = (trace(f"def f(x):\n    return {t}\n", "f", given) for t in ("x + x", "2 * x"))
    assert compare(a, b).headline.endswith("finite inputs)")


@pytest.mark.parametrize("text", ["torch.expm1({})", "torch.log1p({}.abs())", "F.elu({})", "torch.sinh({})"])
def test_where_roundings_are_not_compared_digits_near_zero_are_not_given_away(text: str) -> None:
    """Of float64, and of what is too large to be run, the algebra alone would decide: the call is then any function."""
    lossy = {"torch.expm1({})": "torch.exp({}) - 1", "torch.log1p({}.abs())": "torch.log(1 + {}.abs())",
             "F.elu({})": "torch.where({0} > 0, {0}, torch.exp({0}.clamp(max=0)) - 1)",
             "torch.sinh({})": "(torch.exp({0}) - torch.exp(-{0})) / 2"}[text]  # fmt: skip
    assert not verdict(text.format("d"), lossy.format("d")).accepted
    large = [TensorSpec("x", (1 << 13, 1 << 12), "fp32")]
    a, b = (trace(f"{HEAD}def f(x):\n    return {t.format('x')}\n", "f", large) for t in (text, lossy))
    assert not compare(a, b).accepted and compare(a, a).accepted
