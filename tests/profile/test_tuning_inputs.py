"""What tuning compares on: random tensors of every dtype, where the function has values, and the function in float64."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

from mirage.profile import gpu_timing, tune
from mirage.profile.gpu_timing import random_tensor, relative_difference


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers of the CPU where those of a GPU are asked for."""
    for name in ("randn", "rand", "randint", "Generator"):
        inner = getattr(torch, name)

        def here(*args: Any, inner: Any = inner, **more: Any) -> Any:
            return inner(*[a for a in args if a != "cuda"], **{k: v for k, v in more.items() if k != "device"})

        monkeypatch.setattr(torch, name, here)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.float32, torch.bool])
def test_random_tensors_have_their_dtype_and_vary(dtype: torch.dtype, on_cpu: None) -> None:
    x = random_tensor((64, 32), dtype, torch.Generator())
    values = x.double()
    assert x.dtype == dtype and x.shape == (64, 32) and values.isfinite().all()
    assert len(values.unique()) > (1 if dtype == torch.bool else 30)


def scaled(x: Any, w: Any, s: Any) -> Any:
    return (x @ w.to(torch.float16)) * s


def test_a_function_that_casts_has_a_reference_in_float64(on_cpu: None) -> None:
    module = ModuleType("emitted")
    shapes = (((16, 64), torch.float16), ((64, 32), torch.float8_e4m3fn), ((32,), torch.float16))
    module.__dict__.update(_EXPECTED=shapes, _original_scaled=scaled)
    x, w, s = tune.inputs_of(module, tune.SEEDS[0])
    with pytest.raises(RuntimeError, match="dtype"):  # as it is, it multiplies float64 by float16
        scaled(x.double(), w.double(), s.double())
    found = tune.Reference(module, "scaled")
    want = (x.double() @ w.double()) * s.double()
    assert found.want[0].dtype == torch.float64 and torch.equal(found.want[0], want)
    assert 0 < found.eager_error < 1e-2 and found.steady
    assert relative_difference(scaled(x, w.to(torch.float8_e5m2), s), want) > 3 * found.eager_error
    assert gpu_timing.steady(scaled, (x, w, s), 2)


def reference(of: Callable[..., Any]) -> tune.Reference:
    module = ModuleType("emitted")
    module.__dict__.update(_EXPECTED=(((16, 64), torch.float32), ((16, 64), torch.float32)), _original_f=of)
    return tune.Reference(module, "f")


@pytest.mark.parametrize(
    "function",
    [
        lambda x, v: x / (v.sqrt() + 1e-8),
        lambda x, u: torch.softmax(x - torch.log(-torch.log(u)), -1),
        lambda x, v: (x + v, v.sqrt()),  # one of the results
    ],
)
def test_a_function_of_positive_numbers_is_compared_where_it_has_values(function: Any, on_cpu: None) -> None:
    found = reference(function)
    assert found.inside
    assert not any(map(tune.lacks_values, found.want))
    want = found.want[0]
    wrong = [x * 1.1 for x in want] if isinstance(want, tuple) else want * 1.1
    assert found.eager_error < 1e-5 < relative_difference(wrong, want)


def test_a_function_of_any_numbers_is_compared_on_numbers_of_both_signs(on_cpu: None) -> None:
    found = reference(lambda x, v: x * v)
    assert not found.inside
    assert float(found.inputs(1)[0].min()) < 0


def test_a_function_without_values_anywhere_keeps_its_nan(on_cpu: None) -> None:
    found = reference(lambda x, v: (x - 9).sqrt())
    assert not found.inside and tune.lacks_values(found.want[0])
    assert found.eager_error != found.eager_error  # no kernel is taken for right
