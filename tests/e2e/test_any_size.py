"""`mirage.any` from the command line to calls: every size of the range runs kernels, and is right; others run as written."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import command_here
import pytest
from forked_python import ForkedPython

SIZED = Path(__file__).with_name("sized.py")
USER = """\
import torch
import torch.nn.functional as F
from jaxtyping import Float16
from torch import Tensor

import mirage


def wanted(x, w):
    return F.linear(x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5), w)


@mirage.optimize(dims={"b": mirage.any(5, 9)})
def scaled_rows(x: Float16[Tensor, "b 96"], w: Float16[Tensor, "40 96"]) -> Tensor:
    return F.linear(x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5), w)
"""


def mirage(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return command_here.mirage(*args, folder=folder, MIRAGE_HOME=str(folder / "home"))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, workers_stay: None) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("any")
    (folder / "user.py").write_text(USER)
    (folder / "home").mkdir(mode=0o700)
    run = mirage(folder, "optimize", "user.py", "--json", "--anyway", "--no-daemon", "--install", "--out", "made.py")
    assert run.returncode == 0, run.stderr
    return folder, json.loads(run.stdout)


def test_every_size_of_the_range_is_verified(done: tuple[Path, dict[str, Any]]) -> None:
    _, result = done
    assert [r["inputs"][0]["shape"] for r in result["by_size"]] == [[b, 96] for b in range(5, 10)]
    assert all(r["verdict"]["word"] in ("PROVED", "TESTED") for r in result["by_size"])
    assert "kernels for 5 of 5 sizes" in result["reason"]


def test_every_size_runs_kernels_and_is_right(forked_python: ForkedPython, done: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = done
    env = os.environ | {"TRITON_INTERPRET": "1", "MIRAGE_HOME": str(folder / "home")}
    run = forked_python.run(SIZED, folder / "user.py", "scaled_rows", "5", "6", "7", "8", "9", "4", "10", env=env)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert [f["ran"] for f in found] == [*([f"{b}x96"] for b in range(5, 10)), [], []]
    assert all(f["error"] < 2e-3 for f in found), found


def test_a_row_with_another_size_is_refused(done: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = done
    text = (folder / "made.py").read_text()
    assert mirage(folder, "verify", "user.py::scaled_rows", "made.py").returncode == 0
    at = next(line for line in text.split("\n") if line.startswith("SIZES_") and '"b": 7' in line)
    (folder / "wrong.py").write_text(text.replace(at, at.replace('"b": 7', '"b": 6')))
    refused = mirage(folder, "verify", "user.py::scaled_rows", "wrong.py")
    assert refused.returncode == 1 and "SIZES" in refused.stderr and not refused.stdout
