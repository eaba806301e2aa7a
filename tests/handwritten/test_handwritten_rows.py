"""The table of handwritten kernels: each module defines its function alone, and each fault is an edit of its module."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from handwritten.case import Fault, case, names

TESTS = Path(__file__).resolve().parents[1]
MODULES = {"torch", "triton", "triton.language", "triton.tools.tensor_descriptor"}


def imported(text: str) -> set[str]:
    """The modules that a text imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {x.name for x in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    return found


@pytest.mark.parametrize("name", names())
def test_a_case_is_whole(name: str) -> None:
    row = case(name)
    assert row.definition.name == name and len(row.inputs) == len(row.arguments) == len(row.at)
    public = [x for x in ast.parse(row.module).body if isinstance(x, ast.FunctionDef) and x.name == name]
    assert [x.arg for x in public[0].args.args][: len(row.arguments)] == row.arguments
    assert imported(row.module) <= MODULES
    assert row.faults and len({x.name for x in row.faults}) == len(row.faults)


@pytest.mark.parametrize("name", names())
def test_a_fault_is_an_edit_that_says_what_is_wrong(name: str) -> None:
    row = case(name)
    texts = [row.module, *(row.wrong(fault) for fault in row.faults)]
    for fault, text in zip(row.faults, texts[1:]):
        ast.parse(text)
        assert fault.says.endswith(".") and fault.name.isidentifier()
    assert len(set(texts)) == len(texts)


def test_an_edit_that_does_not_fit_is_refused() -> None:
    row = case("vector_add")
    for old in ("no such text", "mask"):
        with pytest.raises(ValueError, match="times in the module"):
            row.wrong(Fault("misfit", "It does not fit.", [(old, "")]))


def test_the_texts_are_written(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "handwritten.certify", "--write", str(tmp_path), "vector_add"]
    assert subprocess.run(command, cwd=TESTS).returncode == 0
    row = case("vector_add")
    written = {x.name: x.read_text("utf-8") for x in (tmp_path / "vector_add").iterdir()}
    wrong = {f"wrong_{x.name}.py": row.wrong(x) for x in row.faults}
    assert written == {"function.py": row.function, "module.py": row.module, **wrong}
