"""Two functions of which one leaves the range of its dtypes: up to which inputs they are called equal, and when not at all."""

from __future__ import annotations

import math

import pytest
import torch

from mirage.ir.dtypes import DTYPES
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace
from mirage.results.verdict import Verdict
from mirage.verify.floats.range_search import ORDINARY
from mirage.verify.two_programs import compare

SHAPES = {"x": (6, 64), "y": (6, 64), "z": (6, 64), "w": (64, 5)}
# (one, another that overflows earlier, its dtypes)
BEYOND = {
    "halves": ("x * 0.5 + y * 0.5", "(x + y) * 0.5", ("fp32", "fp64")),
    "a sum before its scale": ("(x / 16).sum(1)", "x.sum(1) / 16", ("fp32", "fp64")),
    "between two": ("torch.lerp(x, y, z)", "x * (1 - z) + y * z", ("fp32",)),
    "scaled squares": ("(x * x) * 0.25", "(x * 0.5) * (x * 0.5)", ("fp32",)),
    "a square between scales": ("(x / 1e9).square() * 1e9", "x.square() / 1e9", ("fp32", "fp64")),
    "a product before its scale": ("(x / 1e30) @ w", "(x @ w) / 1e30", ("fp32",)),
    "a maximum": ("torch.maximum(x, y)", "(x + y + (x - y).abs()) / 2", ("fp32", "fp64")),
}
# the same in a range that ordinary numbers leave, or on inputs that anybody may have
NEAR = {
    "halves in 16 bits": ("x * 0.5 + y * 0.5", "(x + y) * 0.5", ("fp16", "bf16")),
    "a sum before its scale in 16 bits": ("(x / 16).sum(1)", "x.sum(1) / 16", ("fp16",)),
    "16 bits on the way": ("(x * 0.5 + y * 0.5).half()", "((x + y) * 0.5).half() * 1", ("fp16",)),
    "a softmax without its shift": ("x.softmax(1)", "x.exp() / x.exp().sum(1, keepdim=True)", ("fp32", "fp64")),
    "a fourth power": ("(x / 1e4) ** 4 + 1", "x ** 4 / 1e16 + 1", ("fp32",)),
    "a product of exponentials": ("(x + y).exp()", "x.exp() * y.exp()", ("fp32", "fp64")),
    "a square that vanishes": ("x.abs()", "(x * x).sqrt()", ("fp32", "fp64")),
    "a product that vanishes": ("x * (y / 1e-24)", "x * y / 1e-24", ("bf16", "fp32")),
    "a product that vanishes in float64": ("x * (y / 1e-190)", "x * y / 1e-190", ("fp64",)),
}  # fmt: skip
BOTH = {  # both overflow, or both vanish
    "squares": ("(x + y).square()", "(y + x) * (x + y)", ("fp16", "fp32", "fp64")),
    "a small number added": ("torch.tanh(x)", "2 * torch.sigmoid(2 * x) - 1", ("fp32",)),
    "a number beyond float32": ("x * 1e200", "1e200 * x", ("fp64",)),
}


def program(text: str, dtype: str) -> Program:
    given = [TensorSpec(n, shape, dtype) for n, shape in SHAPES.items()]
    return trace(f"import torch\n\n\ndef f(x, y, z, w):\n    return {text}\n", "f", given)


def verdict(a: str, b: str, dtype: str, overflow: bool = False) -> Verdict:
    return compare(program(a, dtype), program(b, dtype), overflow=overflow)


def finite(text: str, dtype: str, size: float) -> torch.Tensor:
    """Where PyTorch's value is finite, of inputs between half of the size and the size."""
    kind = getattr(torch, DTYPES[dtype].torch)
    made = torch.Generator().manual_seed(0)
    given = {
        n: (size * (0.5 + 0.499 * torch.rand(s, generator=made, dtype=torch.float64))).to(kind)
        for n, s in SHAPES.items()
    }
    found: torch.Tensor = eval(text, {"torch": torch, **given})
    return found.isfinite()


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in BEYOND for d in BEYOND[n][2]])
def test_what_overflows_beyond_all_data_limits_the_headline(name: str, dtype: str) -> None:
    a, b, _ = BEYOND[name]
    found = verdict(a, b, dtype)
    assert found.accepted and found.finite and found.upto is not None
    assert ORDINARY <= found.upto < DTYPES[dtype].largest
    assert f"finite inputs up to 1e{round(math.log10(found.upto))})" in found.headline
    assert any("leaves the range" in e.summary for e in found.evidence)
    assert torch.equal(finite(a, dtype, found.upto), finite(b, dtype, found.upto))
    larger = (*(found.upto * 2.0**k for k in range(1, 200)), DTYPES[dtype].largest)
    assert any(not torch.equal(finite(a, dtype, s), finite(b, dtype, s)) for s in larger if s <= DTYPES[dtype].largest)


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in NEAR for d in NEAR[n][2]])
def test_what_data_may_meet_is_undecided(name: str, dtype: str) -> None:
    a, b, _ = NEAR[name]
    for one, two in ((a, b), (b, a)):
        found = verdict(one, two, dtype)
        assert found.word == "UNDECIDED" and found.upto is None
        assert any("range" in e.summary or "least number" in e.summary for e in found.rejections)


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in BOTH for d in BOTH[n][2]])
def test_what_both_lose_limits_nothing(name: str, dtype: str) -> None:
    a, b, _ = BOTH[name]
    found = verdict(a, b, dtype)
    assert found.accepted and found.upto is None and "up to" not in found.headline


def test_the_flag_takes_the_limit_away() -> None:
    a, b, _ = BEYOND["halves"]
    found = verdict(a, b, "fp32", overflow=True)
    assert found.accepted and found.upto is None
    assert any("allowed to differ where one overflows" in e.summary for e in found.evidence)
