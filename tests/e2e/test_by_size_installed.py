"""Several sizes from the command line to a call: installed for the decorated function, and put into the user's file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_here import mirage
from forked_python import ForkedPython

from mirage.source import detect
from mirage_lsp import kernel_block, merge_module

SIZED = Path(__file__).with_name("sized.py")
USER = '''\
import torch
import torch.nn.functional as F
from jaxtyping import Float16
from torch import Tensor

import mirage


def wanted(x, w):
    return F.linear(x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5), w)


@mirage.optimize(dims={"b": (3, 19)})
def scaled_rows(x: Float16[Tensor, "b 96"], w: Float16[Tensor, "40 96"]) -> Tensor:
    """Rows over their root mean square, projected."""
    return F.linear(x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5), w)
'''


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, workers_stay: None) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("sizes")
    (folder / "user.py").write_text(USER)
    (folder / "home").mkdir(mode=0o700)
    asked = ("optimize", "user.py", "--json", "--anyway", "--install", "--no-daemon")
    run = mirage(*asked, folder=folder, MIRAGE_HOME=str(folder / "home"))
    assert run.returncode == 0, run.stderr
    return folder, json.loads(run.stdout)


def called(forked_python: ForkedPython, folder: Path, file: str, *rows: int) -> list[dict[str, Any]]:
    env = os.environ | {"TRITON_INTERPRET": "1", "MIRAGE_HOME": str(folder / "home")}
    run = forked_python.run(SIZED, folder / file, "scaled_rows", *map(str, rows), env=env)
    assert run.returncode == 0, run.stderr
    return list(json.loads(run.stdout))


def check(found: list[dict[str, Any]]) -> None:
    assert [f["ran"] for f in found] == [["3x96"], ["19x96"], [], ["3x96"]]  # five rows: the function as written
    assert all(f["error"] < 2e-3 for f in found), found


def test_every_size_has_a_verdict_and_a_time(done: tuple[Path, dict[str, Any]]) -> None:
    _, result = done
    assert [r["inputs"][0]["shape"] for r in result["by_size"]] == [[3, 96], [19, 96]]
    assert all(
        r["mugraph"] >= 0 and r["verdict"]["word"] in ("PROVED", "TESTED") and r["estimate"]["us"] > 0
        for r in result["by_size"]
    )
    assert not any("other sizes" in n for n in result["notes"])


def test_the_decorated_function_runs_its_size(forked_python: ForkedPython, done: tuple[Path, dict[str, Any]]) -> None:
    check(called(forked_python, done[0], "user.py", 3, 19, 5, 3))


def test_the_edited_file_runs_its_size(forked_python: ForkedPython, done: tuple[Path, dict[str, Any]]) -> None:
    """What the editor writes is the module that was judged, under names of its own."""
    folder, result = done
    (found,) = detect.find(USER).functions
    assert found.node is not None
    decorator = found.node.decorator_list[0]
    lines = (decorator.lineno, decorator.end_lineno or decorator.lineno)
    target = merge_module.ReplacedFunction("scaled_rows", found.decorator_line, found.end_line, lines)
    start, end, new = merge_module.replace(USER, target, result["text"])
    text = USER[:start] + new + USER[end:]
    (folder / "edited.py").write_text(text)
    check(called(forked_python, folder, "edited.py", 3, 19, 5, 3))
    done_ = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--line-length", "120", "-"], input=text.encode(), capture_output=True
    )
    assert kernel_block.find(done_.stdout.decode())[0].lines == kernel_block.find(text)[0].lines
    (inside,) = kernel_block.find(text)
    assert text[: inside.start] + kernel_block.original(inside) + text[inside.end :] == USER
