"""`mirage verify --certificate` and `mirage check-certificate`: what was proved is written, replayed, and refused when changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mirage.cli import main

FUNCTION = """import torch
import mirage

@mirage.optimize(inputs=[((6, 10), "fp32"), ((6, 10), "fp32")])
def f(x, y):
    return {body}
"""


def files(folder: Path, *bodies: str) -> list[str]:
    """Files with a function each."""
    paths = [folder / f"f{i}.py" for i in range(len(bodies))]
    for path, body in zip(paths, bodies, strict=True):
        path.write_text(FUNCTION.format(body=body))
    return list(map(str, paths))


def test_a_proof_has_a_certificate(tmp_path: Path) -> None:
    a, b = files(tmp_path, "torch.exp(x + y)", "torch.exp(x) * torch.exp(y)")
    file = tmp_path / "c.json"
    proof = tmp_path / "c.lean"
    given = ["--json", "--overflow-may-differ", "--certificate", str(file), "--lean", str(proof)]
    done = CliRunner().invoke(main, ["verify", a, b, *given], env={"MIRAGE_LEAN_PROJECT": ""})
    state = json.loads(done.output)["certificate"]
    assert state["path"] == str(file) and state["equations"] == 1 and state["steps"] >= 1 and not state["why"]
    assert state["lean"] == str(proof) and state["lean_checked"].startswith("not checked")
    assert "theorem row0_output_2d_0" in proof.read_text() and "not checked" in file.read_text()
    checked = CliRunner().invoke(main, ["check-certificate", str(file), "--first", a, "--second", b, "--show"])
    assert checked.exit_code == 0 and "REPLAYED" in checked.output and "exp(x[" in checked.output
    assert CliRunner().invoke(main, ["check-certificate", str(file), "--first", b]).exit_code == 3
    file.write_text(file.read_text().replace("exponential of a sum", "sum of a sum"))
    assert CliRunner().invoke(main, ["check-certificate", str(file)]).exit_code == 3


@pytest.mark.parametrize("bodies", [("x + y", "x - y"), ("x @ y.T", "x @ x.T")])
def test_what_is_not_proved_has_none(tmp_path: Path, bodies: tuple[str, str]) -> None:
    a, b = files(tmp_path, *bodies)
    file = tmp_path / "c.json"
    done = CliRunner().invoke(main, ["verify", a, b, "--certificate", str(file)])
    assert done.exit_code == 3 and "certificate  none: the algebra was not proved" in done.output
    assert not file.exists()


def test_lean_goes_with_a_certificate(tmp_path: Path) -> None:
    a, b = files(tmp_path, "x + y", "y + x")
    done = CliRunner().invoke(main, ["verify", a, b, "--lean", str(tmp_path / "c.lean")])
    assert done.exit_code == 2 and "--lean goes with --certificate" in done.output
