"""What kernels may do with integers that depend on data: which functions are taken, which are refused with the line."""

from __future__ import annotations

import pytest

from mirage.errors import UnsupportedOperands
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program.integers import refuse_integers
from mirage.program.trace import trace

INPUTS = {"x": ((5, 6), "fp16"), "n": ((5, 1), "int64"), "m": ((6,), "int32"), "w": ((5, 6), "int8")}


def program(expression: str) -> Program:
    text = f"import torch\nimport torch.nn.functional as F\n\ndef f({', '.join(INPUTS)}):\n    return {expression}\n"
    return trace(text, "f", [TensorSpec(k, *v) for k, v in INPUTS.items()])


@pytest.mark.parametrize(
    "expression",
    [
        "x * n", "x + m.half()", "w.to(x.dtype) * x", "x @ w.T.to(x.dtype)", "torch.where(torch.arange(6) < n, x, 0.0)", "n / m * x",
        "torch.where(m == n, x, 1.0)", "torch.where(n.reshape(5, 1).expand(5, 6) > 2, x, 1.0)", "n.bool() * x", "m.long() * x",
        "torch.where(w > x, x, 0.0)", "torch.where(n > 0.5, x, 0.0)", "x * torch.arange(6)", "x.argsort() * x",
        "torch.where(n.float() < x, x, 0.0)", "(x * 3).round().to(torch.int8)", "x.long()", "torch.where(x.int() == m, x, 0.0)",
    ],
)  # fmt: skip
def test_what_is_exact_is_taken(expression: str) -> None:
    refuse_integers(program(expression), "user.py")


@pytest.mark.parametrize(
    "expression,part",
    [
        ("x * (n + 1)", "`add` takes integers (`n`)"),
        ("x * (n * m)", "`mul` takes integers (`n`, `m`)"),
        ("x * (w - w[:1])", "`sub` takes integers"),
        ("x * (m + torch.arange(6))", "`add` takes integers (`m`)"),
        ("x * m.sum()", "`sum` takes integers"),
        ("x * -n", "`neg` takes integers"),
        ("x * n.to(torch.int8)", "`cast` takes integers"),
        ("torch.where(n > x, x, 0.0)", "`gt` takes integers"),
        ("torch.where(n.half() > x, x, 0.0)", "`gt` takes integers"),
        ("torch.where(x < n.bfloat16()[None], x, 0.0)", "`lt` takes integers"),
        ("x * (x.long() + 1)", "int64 of `aten._to_copy.default`"),
        ("x * (x.argsort() + 1)", "int64 of `aten.argsort.default`"),
        ("x * (torch.arange(6) // 4)", "floor_divide"),
    ],
)
def test_what_wraps_or_is_rounded_otherwise_is_refused(expression: str, part: str) -> None:
    with pytest.raises(UnsupportedOperands) as raised:
        refuse_integers(program(expression), "user.py")
    assert part in raised.value.message and raised.value.line == 5 and raised.value.path == "user.py"


@pytest.mark.parametrize("expression", ["n.reshape(1, 5)", "n", "(x, w)", "x.int()[1:]"])
def test_integers_are_not_returned(expression: str) -> None:
    with pytest.raises(UnsupportedOperands, match="integers are returned"):
        refuse_integers(program(expression), "user.py")


def test_an_integer_that_is_made_an_8_bit_float_is_rounded() -> None:
    nodes = {n.op: n for n in program("w.to(torch.float8_e4m3fn).half() * x").nodes if n.type.dtype == "fp8e4m3"}
    assert nodes["cast"].attr("event") is True
    notes = program("x * n.half()").notes
    assert any("integers are not rounded to fp16 there" in note for note in notes)
