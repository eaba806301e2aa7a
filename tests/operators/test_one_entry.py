"""One entry is all that a new operator needs, from the PyTorch function to the verdict; a wrong one is rejected."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from operators.one_entry import HARDSIGMOID, LOG2
from operators.test_operator_table import beside_torch, same

SCRIPT = Path(__file__).with_name("one_entry.py")


@pytest.fixture(scope="module")
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(SCRIPT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as made:
        yield made
        made.kill()


def whole_way(process: subprocess.Popen[str], name: str, change: str = "") -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{name} {change}\n")
    process.stdin.flush()
    found: dict[str, Any] | None = json.loads(process.stdout.readline())
    assert found is not None, "it ended with an error, which stands above"
    return found


@pytest.mark.parametrize("name,text", [("hardsigmoid", "/ 6.0"), ("log2", "tl.log2(")])
def test_a_new_operator_goes_the_whole_way(name: str, text: str, process: subprocess.Popen[str]) -> None:
    found = whole_way(process, name)
    assert f"aten.{name}.default" in found["before"]  # PyTorch's own call without the entry
    assert name in found["nodes"] and name in found["ops"] and text in found["module"]
    assert found["accepted"], found["words"]
    assert ["algebra", "proof", "PROVED"] in found["words"]
    assert {"field", "float", "memory"} <= {opinion for link, opinion, _ in found["words"] if link == "text"}
    assert found["cost"] < found["dear"]
    assert found["rows"] == 2  # as an operator of tensor programs and of block graphs
    assert ("the range of log2 is not known" in found["summaries"]["range"]) == (name == "log2")
    assert "mask(dim=k)" in found["module"]  # its zeros in the padding are not taken for zeros


@pytest.mark.parametrize("change", ["triton", "field", "padding"])
def test_a_wrong_entry_is_rejected(change: str, process: subprocess.Popen[str]) -> None:
    """A wrong text, a wrong value in the field, a result in the padding that is said to be zero and is not."""
    found = whole_way(process, "hardsigmoid", change)
    assert not found["accepted"], found["words"]


def test_a_wrong_float64_value_is_caught() -> None:
    assert same(*beside_torch(HARDSIGMOID)) and same(*beside_torch(LOG2))
    assert not same(*beside_torch(replace(HARDSIGMOID, float64=lambda x: np.minimum(np.maximum(x + 2, 0), 6) / 6)))
    assert not same(*beside_torch(replace(LOG2, float64=np.log)))
