"""The module that runs the user's own function by PyTorch: what it runs for which tensors, and when it compiles."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

from mirage.codegen.baseline_module import emit_baselines
from mirage.errors import EmissionRefused
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.results.baselines import BASELINES

SOURCE = '''
import torch

SCALE = 2.0

def helper(x):
    return x * SCALE

def f(x, y=None, *, k: float = SCALE):
    """Words."""
    return helper(x) + k
'''
ATTENTION = "import torch.nn.functional as F\n\ndef f(x):\n    return F.scaled_dot_product_attention(x, x, x)\n"
X = torch.ones(2, 3)


def program(*shape: int, strides: tuple[int, ...] | None = None) -> Program:
    return Program("f", (TensorSpec("x", shape, "fp32", strides=strides),), (), (0,), False)


def loaded(text: str, device: str = "cpu") -> types.ModuleType:
    module = types.ModuleType("emitted")
    exec(compile(text, "emitted.py", "exec"), module.__dict__)
    vars(module)["_DEVICE"] = device
    return module


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Plays PyTorch's compiler: what it was asked; what it makes gives 7 everywhere."""
    asked: list[dict[str, Any]] = []

    def make(function: Callable[..., Any], **how: Any) -> Callable[..., Any]:
        asked.append({"of": function.__name__, **how})
        return lambda x, y=None, *, k: torch.full_like(x, 7.0)

    monkeypatch.setattr(torch, "compile", make)
    return asked


def emitted(*rows: tuple[Program, str]) -> str:
    return emit_baselines(rows, SOURCE, function="f", header={"made by": "mirage"})


@pytest.mark.parametrize("name", [n for n, row in BASELINES.items() if row.mode])
def test_it_compiles_at_the_first_call_and_once(compiled: list[dict[str, Any]], name: str) -> None:
    module = loaded(emitted((program(2, 3), name)))
    assert not compiled and module.f.__doc__ == "Words."
    assert module.f(X).eq(7.0).all() and module.f(X, None, k=2.0).eq(7.0).all()
    assert compiled == [{"of": "_original_f", "dynamic": False, "mode": BASELINES[name].mode}]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (torch.ones(2, 4), {}),
        (torch.ones(2, 3, dtype=torch.float16), {}),
        (torch.ones(3, 2).t(), {}),
        (torch.ones(2, 3, requires_grad=True), {}),
        (torch.ones(2, 3, device="meta"), {}),
        (X, {"k": 3.0}),
        (X, {"y": 1}),
    ],
)
def test_what_was_not_measured_runs_as_written(
    compiled: list[dict[str, Any]], given: Any, named: dict[str, Any]
) -> None:
    module = loaded(emitted((program(2, 3), "compile")))
    out, want = module.f(given, **named), module._original_f(given, **named)
    assert not compiled and (given.is_meta or torch.equal(out, want)) and out.shape == want.shape


def test_on_another_kind_of_device_it_runs_as_written(compiled: list[dict[str, Any]]) -> None:
    assert loaded(emitted((program(2, 3), "compile")), "cuda").f(X).eq(4.0).all() and not compiled


def test_each_size_runs_what_was_fastest_for_it(compiled: list[dict[str, Any]]) -> None:
    module = loaded(emitted((program(2, 3), "compile_max"), (program(5, 3), "compile"), (program(6, 3), "compile")))
    for rows in (2, 5, 6, 6):
        assert module.f(torch.ones(rows, 3)).eq(7.0).all()
    assert [c["mode"] for c in compiled] == ["max-autotune-no-cudagraphs", "default"]
    assert module.f(torch.ones(7, 3)).eq(4.0).all()


def test_attention_by_one_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.nn.attention import SDPBackend

    text = emit_baselines([(program(1, 2, 4, 8), "sdpa_flash")], ATTENTION, function="f", header={})
    module, seen = loaded(text), []
    within = module.sdpa_kernel
    monkeypatch.setattr(module, "sdpa_kernel", lambda backend: seen.append(backend) or within(SDPBackend.MATH))
    x = torch.randn(1, 2, 4, 8)
    assert torch.allclose(module.f(x), module._original_f(x), atol=1e-6)
    assert seen == [SDPBackend.FLASH_ATTENTION]
    module.f(torch.randn(1, 2, 5, 8))
    assert len(seen) == 1 and "torch.compile" not in text


def test_there_is_no_kernel_and_no_mugraph_in_it() -> None:
    text = emitted((program(2, 3), "compile"))
    assert "triton" not in text and "mirage:begin mugraph" not in text and "def _original_f(x" in text


@pytest.mark.parametrize("row", [(program(2, 3), "eager"), (program(2, 3, strides=(1, 2)), "compile")])
def test_what_needs_no_module_or_was_not_measured_is_refused(row: tuple[Program, str]) -> None:
    with pytest.raises(EmissionRefused):
        emitted(row)
