"""What a run of the kernels on floats tells of its outputs: values in their own dtype, and whether a second run gave the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mirage.verify.floats.worker import decode, packed

MODULE = """
import torch
SIZES, TILES, _EXPECTED, calls = {}, {}, None, []

def _run(x):
    calls.append(1)
    out = torch.empty(*x.shape, dtype=x.dtype)
    out.copy_(x * FACTOR)
    return out
"""
VALUES = np.array([[1.5, -2.0], [float("nan"), 0.0]])


RunTask = Callable[[str, dict[str, Any]], dict[str, Any]]


def told(run: RunTask, dtype: str, factor: str, times: int = 2) -> dict[str, Any]:
    text = MODULE.replace("FACTOR", factor)
    payload = {"module": text, "text": "", "function": "", "sizes": {}, "tiles": {}, "names": None, "times": times}
    (one,) = run("float", {**payload, "inputs": [[packed(dtype, VALUES)]]})["runs"]
    return one


@pytest.mark.parametrize(
    ("dtype", "kind"), [("fp16", "float16"), ("bf16", "float32"), ("fp32", "float32"), ("fp64", "float64")]
)
def test_values_come_in_their_own_dtype_and_are_the_same(run: RunTask, dtype: str, kind: str) -> None:
    got = told(run, dtype, "2")
    assert got["error"] is None and got["repeats"] == [True] and got["outputs"][0]["as"] == kind
    np.testing.assert_array_equal(decode(got["outputs"][0]), VALUES * 2)


def test_a_second_run_with_other_bits_is_told(run: RunTask) -> None:
    assert told(run, "fp32", "len(calls)")["repeats"] == [False]
    assert told(run, "fp32", "(-1) ** len(calls) * 0")["repeats"] == [False]  # zeros of both signs
    assert told(run, "fp32", "len(calls)", times=1)["repeats"] == [True]  # of one run nothing is known
