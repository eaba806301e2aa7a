"""The public function runs its kernels where they fit and the original everywhere else."""

from __future__ import annotations

import numpy as np
import pytest
from emission_cases import original_of, program_of
from workloads import hand

from mirage.codegen.emit import emit_module

CASE = hand.rmsnorm_linear()
SOURCE = original_of(CASE).replace("(X, G, W)", "(X, G, W, eps=1e-6, flag=None)")
TEXT = emit_module(program_of(CASE.mugraph), CASE.mugraph, SOURCE, function=CASE.name, header={})


def test_tensors_that_fit_run_the_kernels(interpret):
    arrays = CASE.inputs()
    answer = interpret(TEXT, arrays, call=CASE.name)
    assert answer["kernels"]
    assert np.abs(answer["out"][0] - CASE.reference(*arrays)).max() < 0.1
    assert interpret(TEXT, arrays, call=CASE.name, eps=1e-6, flag=None)["kernels"]


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "float32"},
        {"dtype": ["float16", "float16", "float16"], "grad": True},
        {"eps": 1e-5},
        {"flag": 1},
        {"rows": 20},
    ],
    ids=str,
)
def test_anything_else_runs_the_original(change, interpret):
    change = dict(change)
    case = hand.rmsnorm_linear(m=change.pop("rows", 19))
    arrays = case.inputs()
    answer = interpret(TEXT, arrays, call=CASE.name, **change)
    assert "error" not in answer, answer
    assert not answer["kernels"]
    assert np.abs(answer["out"][0] - case.reference(*arrays)).max() < 0.1
