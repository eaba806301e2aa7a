"""The opinion at the real shape: the worker's half on the processor, in Triton's interpreter, at shapes that are small enough for it."""

from __future__ import annotations

from typing import Any

import pytest
from workloads.hand import small
from workloads.hand_modules import emitted

from mirage.results.details import FloatDetails
from mirage.verify.floats.device_opinion import device_opinion

CASES = small()


@pytest.mark.parametrize("name", ["rmsnorm_linear", "gated_mlp"])
def test_a_right_module_passes_every_regime_at_its_own_shape(name: str, run: Any) -> None:
    module = emitted(CASES[name])
    found = device_opinion(module, run, device="cpu")
    assert found is not None
    assert found.word == "TESTED", found.summary
    assert found.where == "cpu"
    assert isinstance(found.details, FloatDetails)
    assert found.details.sizes == dict(module.mugraph.axes)
    assert {"normal", "times 10", "subnormal", "zeros"} <= {r.regime for r in found.details.regimes}


def test_a_wrong_module_is_refused_with_the_element(run: Any) -> None:
    found = device_opinion(emitted(CASES["rmsnorm_linear"], "1e-06", "0.5"), run, device="cpu")
    assert found is not None
    assert found.word == "REJECTED"
    assert found.counterexample is not None
    assert found.counterexample.expected != found.counterexample.actual


def test_a_result_of_another_dtype_is_refused(run: Any) -> None:
    wide = emitted(CASES["rmsnorm_linear"], "dtype=torch.float16", "dtype=torch.float32")
    found = device_opinion(wide, run, device="cpu")
    assert found is not None
    assert found.word == "REJECTED"
    assert "not float16" in found.summary


def test_a_module_that_cannot_be_launched_is_refused(run: Any) -> None:
    found = device_opinion(emitted(CASES["rmsnorm_linear"], "def _run(", "def _other("), run, device="cpu")
    assert found is not None
    assert found.word == "REJECTED"
