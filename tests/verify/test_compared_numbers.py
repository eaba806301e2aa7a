"""A number that a dtype does not hold is compared as the dtype has it: at the float32 next to 0.7, x >= 0.7 holds and x > 0.7 does not."""

from __future__ import annotations

import pytest
import torch

from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace
from mirage.verify.two_programs import compare

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}


def program(text: str, dtype: str) -> Program:
    given = [TensorSpec("x", (4, 16), dtype)]
    return trace(f"import torch\n\n\ndef f(x):\n    return {text}\n", "f", given)


DIFFERENT = [
    ("torch.where(x > 0.7, x, 0.0)", "torch.where(x >= 0.7, x, 0.0)", 0.7),
    ("torch.where(x > -0.3, x, 0.0)", "torch.where(x < -0.3, 0.0, x)", -0.3),
    ("torch.where(x.abs() <= 0.1, 0.0, x)", "x * (x.abs() >= 0.1)", 0.1),
    ("(x == 0.9).to(x.dtype)", "torch.zeros_like(x)", 0.9),
    ("torch.where(x >= torch.full_like(x, 0.6), x, 1.0)", "torch.where(x > 0.6, x, 1.0)", 0.6),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("one,two,at", DIFFERENT)
def test_a_threshold_is_met_where_the_dtype_has_it(one: str, two: str, at: float, dtype: str) -> None:
    x = torch.full((4, 16), at, dtype=DTYPES[dtype])
    assert not torch.equal(*(eval(text, {"torch": torch, "x": x}) for text in (one, two)))
    assert compare(program(one, dtype), program(two, dtype)).word == "REJECTED"


def test_a_threshold_in_a_wider_dtype_is_another_one() -> None:
    one, two = "torch.where(x > 0.7, x, 0.0)", "torch.where(x.float() > 0.7, x, 0.0)"
    x = torch.full((4, 16), 0.7, dtype=torch.float16)
    assert not torch.equal(*(eval(text, {"torch": torch, "x": x}) for text in (one, two)))
    assert compare(program(one, "fp16"), program(two, "fp16")).word == "REJECTED"


@pytest.mark.parametrize(
    "one,two",
    [
        ("torch.where(x > 0.7, x, 0.0)", "torch.where(x <= 0.7, 0.0, x)"),
        ("torch.where(x >= 0.7, x, 0.0)", "torch.where(torch.full_like(x, 0.7) <= x, x, 0.0)"),
        ("torch.where(x * 3 > 2.1, x, 0.0)", "torch.where(x > 0.7, x, 0.0)"),  # but for a rounding
        ("x.clamp(max=0.7)", "torch.where(x > 0.7, 0.7, x)"),
        ("torch.where(x > 0.5, x, 0.1)", "torch.where(~(x <= 0.5), x, 0.1)"),
    ],
)
def test_one_threshold_is_one(one: str, two: str) -> None:
    assert compare(program(one, "fp32"), program(two, "fp32")).accepted
