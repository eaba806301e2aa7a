"""`mirage explain`: what a written kernel computes, its tiles and why, its verdict, and how to check it again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_cli_check import FUNCTION, GRAPH, PROGRAM

from mirage.cli import main
from mirage.codegen import module_header
from mirage.codegen.emit import emit_module
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.mugraph.parse import parse
from mirage.source.slice import cut

HEADER = {"laws": "distribute, online rescale", "verdict": "PROVED (all sizes)", "time": "3.0 us estimated\nand more"}
Explain = Callable[..., Result]


@pytest.fixture
def explain() -> Explain:
    return lambda *arguments: CliRunner().invoke(main, ["explain", *map(str, arguments)], prog_name="mirage")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(FUNCTION)
    text = emit_module(PROGRAM, parse(GRAPH), cut(FUNCTION, "doubled").readable, function="doubled", header=HEADER)
    (tmp_path / "doubled_mirage.py").write_text(text)
    return tmp_path


def test_it_says_formula_laws_tiles_verdict_and_the_next_check(project: Path, explain: Explain) -> None:
    done = explain(project / "doubled_mirage.py")
    lines = done.stdout.splitlines()
    assert done.exit_code == 0 and lines[0] == f"doubled: {project}/doubled_mirage.py"
    assert "  formula  out = 2 x[m,n]" in lines
    assert "  laws     distribute, online rescale" in lines
    assert "  tiles    fused: m by 16 (1 blocks), n by 64 (1 blocks); 4 warps, 1 stages" in lines
    assert "  verdict  PROVED (all sizes)" in lines and "  time     and more" in lines
    assert any(x.startswith("  why      fused: m by 16 (") and "by 8 " in x and "by 32" not in x for x in lines)
    assert f"  check    `mirage verify {project}/model.py::doubled {project}/doubled_mirage.py` judges it anew" in lines


def test_what_it_names_is_a_command_that_runs(project: Path, explain: Explain) -> None:
    said = explain(project / "doubled_mirage.py").stdout
    (command,) = [line.split("`")[1].split() for line in said.splitlines() if "`mirage check" in line]
    assert CliRunner().invoke(main, command[1:], prog_name="mirage").exit_code == 0


def test_the_function_that_is_named_is_the_one_that_the_kernel_belongs_to(project: Path, explain: Explain) -> None:
    (project / "another.py").write_text(FUNCTION.replace("2.0", "3.0"))
    assert f"{project}/model.py::doubled" in explain(project / "doubled_mirage.py").stdout
    (project / "model.py").unlink()
    assert "mirage verify FILE::doubled" in explain(project / "doubled_mirage.py").stdout, "none of it is its function"


def test_a_function_means_the_kernel_beside_it(project: Path, explain: Explain) -> None:
    for place in (project / "model.py", f"{project / 'model.py'}::doubled"):
        assert explain(place).stdout == explain(project / "doubled_mirage.py").stdout
    (project / "doubled_mirage.py").unlink()
    done = explain(project / "model.py")
    assert done.exit_code == 1 and f"run `mirage optimize {project}/model.py`" in done.stderr


def test_estimates_are_those_of_the_target(project: Path, explain: Explain) -> None:
    large = Program("doubled", (TensorSpec("x", (1 << 20, 64), "fp16"),), (), (0,), False)
    graph = parse(GRAPH.replace("m=16 ", f"m={1 << 20} "))
    text = emit_module(large, graph, cut(FUNCTION, "doubled").readable, function="doubled", header=HEADER)
    (project / "doubled_mirage.py").write_text(text)
    one, other = (explain(project / "model.py", "--target", t).stdout for t in ("h200", "a100"))
    assert one != other
    assert explain(project / "model.py", "--target", "h1").stderr.startswith("MIR304")


def test_a_file_without_kernels_is_a_mistake(project: Path, explain: Explain) -> None:
    (project / "plain.py").write_text("x = 1\n")
    assert explain(project / "plain.py").stderr.startswith("MIR102")
    assert explain(project / "nowhere.py").stderr.startswith("MIR100")


def test_a_header_reads_back() -> None:
    header = {"formula": "O = " + " + ".join(f"x{i}[m,n]" for i in range(60)), "time": "one\ntwo", "made by": "mirage"}
    lines = module_header.lines(header)
    assert max(map(len, lines)) <= 120 and len(lines) > 4
    text = module_header.BEGIN + "".join(f"{x}\n" for x in lines) + module_header.END + "# formula: no header's\n"
    assert module_header.read(text) == header
    more = module_header.with_entries(text, {"laws": "a, b"})
    assert module_header.read(more) == {"laws": "a, b", **header}
    assert module_header.read("x = 1\n") == {}
