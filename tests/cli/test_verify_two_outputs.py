"""`mirage verify` of programs with two outputs: every output's counterexample reaches the terminal, JSON and the page."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mirage.cli import main

HEAD = "import torch\nfrom jaxtyping import Float32\nfrom torch import Tensor\n\nimport mirage\n\n\n"
FUNCTION = """@mirage.optimize
def f(x: Float32[Tensor, "4 6"], y: Float32[Tensor, "4 6"]) -> tuple[Tensor, Tensor]:
    return {}, {}
"""
RIGHT, OTHER = ("x * y + x", "x + y"), ("x * (y + 1)", "y + x")
WRONG = ("x * y + y", "x - y")


def verify(folder: Path, wrong: tuple[int, ...]) -> tuple[int, dict[str, Any], str, str]:
    """(exit code, the JSON, the terminal's lines, the page) where these outputs of the second function are wrong."""
    left, right, page = folder / "left.py", folder / "right.py", folder / "page.html"
    left.write_text(HEAD + FUNCTION.format(*RIGHT))
    right.write_text(HEAD + FUNCTION.format(*(WRONG[i] if i in wrong else OTHER[i] for i in range(2))))
    found = CliRunner().invoke(main, ["verify", str(left), str(right), "--json", "--html", str(page)])
    said = CliRunner().invoke(main, ["verify", str(left), str(right)])
    assert found.exit_code == said.exit_code, (found.output, said.output)
    return found.exit_code, json.loads(found.stdout), said.stdout, unescape(page.read_text("utf-8"))


@pytest.mark.parametrize("wrong", [(0,), (1,), (0, 1), ()], ids=["first", "second", "both", "none"])
def test_every_wrong_output_shows_where_it_differs(wrong: tuple[int, ...], tmp_path: Path) -> None:
    code, data, said, page = verify(tmp_path, wrong)
    assert code == (3 if wrong else 0) and (data["word"] == "REJECTED") == bool(wrong)
    assert data["outputs"] == 2
    field = [e for e in data["evidence"] if e["opinion"] == "field"]
    assert {e["output"]: e["word"] == "REJECTED" for e in field} == {i: i in wrong for i in range(2)}
    for e in field:
        shown = e["counterexample"]
        assert (shown is not None) == (e["output"] in wrong)
        if shown is not None:
            line = f"output {shown['output']} at {tuple(shown['index'])}: {shown['expected']} and {shown['actual']}"
            assert shown["output"] == e["output"] and line in said and line in page
    assert {int(i) for i in re.findall(r"output (\d) at \([^)]*\): [^<]*? and [^<]*? \(sizes", page)} == set(wrong)
