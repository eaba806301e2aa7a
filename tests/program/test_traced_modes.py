"""Modes and settings of PyTorch inside a traced function: what changes no value is traced, what does is refused by its name."""

from __future__ import annotations

import pytest
import torch

from mirage.errors import SideEffect, UnfixedAnswer
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace

# (the text, what it means)
MEANINGLESS = (
    ("with torch.no_grad():\n        y = x * 2\n    return y", "return x * 2"),
    ("with torch.enable_grad():\n        y = x * 2\n    return y", "return x * 2"),
    ("with torch.set_grad_enabled(False):\n        y = x * 2\n    return y", "return x * 2"),
    ("with torch.inference_mode():\n        y = x * 2\n    return y", "return x * 2"),
    ("with torch.autocast('cuda', enabled=False):\n        y = x @ x\n    return y", "return x @ x"),
    ("with torch.amp.autocast('cpu', torch.bfloat16, False):\n        y = x @ x\n    return y", "return x @ x"),
    ("return x.to(x.device) * 2", "return x * 2"),
    ("return torch.ones(8, 8, device=x.device) * x", "return torch.ones(8, 8) * x"),
)
REFUSED = (
    ("with torch.autocast('cuda', torch.bfloat16):\n        y = x @ x\n    return y", "autocast"),
    ("with torch.autocast('cpu'):\n        y = x @ x\n    return y", "autocast"),
    ("with torch.amp.autocast(device_type='cuda', dtype=torch.float16):\n        y = x @ x\n    return y", "autocast"),
    ("return x.to('cpu') * 2", "another device"),
    ("return x.cpu() * 2", "another device"),
    ("return x.to(torch.device('cuda', 0)) * 2", "another device"),
    ("return x.to(device='cpu', dtype=torch.float16)", "another device"),
    ("torch.set_default_dtype(torch.float64)\n    return x * torch.ones(8)", "torch.set_default_dtype()"),
    ("torch.set_float32_matmul_precision('medium')\n    return x @ x", "torch.set_float32_matmul_precision()"),
)


def traced(body: str) -> Program:
    return trace(f"import torch\ndef f(x):\n    {body}\n", "f", [TensorSpec("x", (8, 8), "fp32")])


@pytest.mark.parametrize("body,plain", MEANINGLESS)
def test_what_changes_no_value_is_traced(body: str, plain: str) -> None:
    assert traced(body).key == traced(plain).key


@pytest.mark.parametrize("body,part", REFUSED)
def test_what_changes_values_is_refused_by_its_name(body: str, part: str) -> None:
    before = torch.get_default_dtype(), torch.get_float32_matmul_precision()
    with pytest.raises(SideEffect) as raised:
        traced(body)
    assert part in raised.value.message and raised.value.line == 3
    assert (torch.get_default_dtype(), torch.get_float32_matmul_precision()) == before


def test_a_mode_that_is_asked_for_decides_still() -> None:
    with pytest.raises(UnfixedAnswer):
        traced("with torch.no_grad():\n        y = x * 2\n    return y if torch.is_grad_enabled() else x")
