"""Reshapes that cut across dims: what lies between two of them is compared all the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace_generic
from mirage.verify.semantics.program_values import run
from mirage.verify.semantics.reshapes_met import reshapes_met, with_reshapes
from mirage.verify.two_programs import compare

INPUTS = [TensorSpec("x", (6, 35), "fp32"), TensorSpec("w", (10,), "fp32")]


def program(text: str) -> Program:
    head = "import torch\nimport torch.nn.functional as F\n\n\n"
    return trace_generic(f"{head}def f(x, w):\n    return {text}\n", "f", INPUTS)


@pytest.mark.parametrize(
    "text,calls",
    [
        ("x.reshape(10, 21).exp().reshape(6, 35)", 0),
        ("(x.reshape(10, 21) + x.sin().reshape(10, 21)).reshape(35, 6).T.relu()", 1),
        ("torch.where(x.reshape(10, 21) > 0, x.reshape(10, 21), 2.0).reshape(3, 2, 35)", 0),
        ("(x.reshape(10, 21) * w[:, None]).reshape(6, 35)", 2),  # w is in another order there
        ("x.reshape(10, 21).softmax(1).reshape(6, 35)", 2),
    ],
)
def test_values_stay_and_reshapes_that_meet_go(text: str, calls: int) -> None:
    p = program(text)
    made = reshapes_met(p)
    assert sum(is_call(n.op) for n in made.nodes) == calls
    given = [np.random.default_rng(5).standard_normal(i.shape) for i in p.inputs]
    names = {i.name: torch.from_numpy(v) for i, v in zip(p.inputs, given, strict=True)}
    want = eval(text, {"torch": torch, **names}).numpy()
    for q in (p, made):
        (have,), _ = run(with_reshapes(q), given)
        np.testing.assert_allclose(have, want, rtol=1e-12)


@pytest.mark.parametrize(
    "function,equal,other",
    [
        ("x.reshape(10, 21).mul(3).reshape(6, 35)", "x * 3", "x * 2"),
        ("x.reshape(10, 21).exp().reshape(21, 10)", "x.exp().reshape(21, 10)", "x.exp().reshape(10, 21).T.reshape(21, 10)"),
        ("x.reshape(10, 21).reshape(6, 35).sum(1)", "x.sum(1)", "x.reshape(35, 6).sum(0)"),
        (
            "(x.reshape(10, 21) * w[:, None]).tanh().sum(1)",
            "torch.tanh(w[:, None] * x.reshape(10, 21)).sum(1)",
            "torch.tanh(w.flip(0)[:, None] * x.reshape(10, 21)).sum(1)",
        ),
    ],
)  # fmt: skip
def test_equal_ones_are_accepted_and_others_are_not(function: str, equal: str, other: str) -> None:
    assert compare(program(function), program(equal)).accepted
    assert compare(program(function), program(other)).word == "REJECTED"
