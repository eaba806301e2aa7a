"""One entry is all that a new operator needs, from the PyTorch function to the verdict; a wrong one is rejected."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from operators.one_entry import HARDSIGMOID, LOG2
from operators.test_operator_table import beside_torch, same

SCRIPT = Path(__file__).with_name("one_entry.py")


def whole_way(name: str, change: str = "") -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(SCRIPT), name, change], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name,text", [("hardsigmoid", "/ 6.0"), ("log2", "tl.log2(")])
def test_a_new_operator_goes_the_whole_way(name: str, text: str) -> None:
    found = whole_way(name)
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
def test_a_wrong_entry_is_rejected(change: str) -> None:
    """A wrong text, a wrong value in the field, a result in the padding that is said to be zero and is not."""
    found = whole_way("hardsigmoid", change)
    assert not found["accepted"], found["words"]


def test_a_wrong_float64_value_is_caught() -> None:
    assert same(*beside_torch(HARDSIGMOID)) and same(*beside_torch(LOG2))
    assert not same(*beside_torch(replace(HARDSIGMOID, float64=lambda x: np.minimum(np.maximum(x + 2, 0), 6) / 6)))
    assert not same(*beside_torch(replace(LOG2, float64=np.log)))
