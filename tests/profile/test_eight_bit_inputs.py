"""Tuning on 8-bit inputs: random tensors of every dtype, and the function in float64 where it casts by itself."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

from mirage.profile import gpu_timing, tune
from mirage.profile.gpu_timing import random_tensor, relative_difference


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers of the CPU where those of a GPU are asked for."""
    for name in ("randn", "randint", "Generator"):
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
